"""What a person says once is still in the summary after many answers with figures, in any language."""

import random

import pytest

import brim
from brim.history.compact.plan import plan
from brim.testing import Scripted

METER = "o200k_base"
PLACES = ("Porto", "Sevilla", "Granada", "Coimbra", "Lima", "Cusco")
HOUSES = ("Amara", "Luz", "Miramar", "Verde", "Norte", "Flora", "Belmonte", "Prado", "Alba", "Mayor")
ROWS = {
    "en": "- Casa {0} in {1}: {2} euros a night, {3} minutes to the station, rated {4}.",
    "de": "- Casa {0} in {1}: {2} Euro die Nacht, {3} Minuten zum Bahnhof, Note {4}.",
    "es": "- Casa {0} en {1}: {2} euros la noche, a {3} minutos de la estación, nota {4}.",
    "ja": "- {0}亭（{1}）：一泊{2}ユーロ、駅まで{3}分、評価は{4}です。",
}
ASKS = {
    "en": ["And something nearer to the beach?", "Show me three more in the old town.", "Thanks. What about Granada?"],
    "de": ["Und etwas näher am Strand?", "Zeig mir drei weitere in der Altstadt.", "Danke. Und in Granada?"],
    "es": ["¿Y algo más cerca de la playa?", "Enséñame tres más en el centro.", "Gracias. ¿Y en Granada?"],
    "ja": ["もっと海に近いところはありますか？", "旧市街であと三つ見せてください。", "グラナダはどうですか？"],
}
SAID = {
    "en": [
        "We decided: no Lima, ever.", "I am allergic to nuts.", "My mother comes along and she can't climb stairs.",
        "We're four, two of them kids, 6 and 9.", "Trains only, I gave up flying last year.",
        "The whole thing has to stay under 3,200 euros.", "Ana gets sick on buses.", "Call me Ruben, by the way.",
        "It's our tenth anniversary on the 14th.", "Book nothing before I've talked to Marta.",
    ],
    "de": [
        "Wir haben beschlossen: niemals Lima.", "Ich vertrage keine Nüsse.", "Sag ruhig Ruben zu mir.",
        "Meine Mutter kommt mit und kann keine Treppen steigen.", "Wir sind zu viert, zwei davon Kinder.",
        "Nur Züge, ich fliege seit letztem Jahr nicht mehr.", "Alles zusammen soll unter 3.200 Euro bleiben.",
        "Ana wird im Bus schlecht.", "Am 14. haben wir zehnten Hochzeitstag.",
        "Buche nichts, bevor ich mit Marta gesprochen habe.",
    ],
    "es": [
        "Lo hemos hablado: a Lima no vamos.", "Soy alérgica a los frutos secos.", "Llámame Rubén, por cierto.",
        "Viene mi madre y no puede subir escaleras.", "Somos cuatro, dos de ellos niños.",
        "Solo trenes, dejé de volar el año pasado.", "Ana se marea en los autobuses.",
        "Todo junto tiene que quedar por debajo de 3.200 euros.", "El 14 es nuestro décimo aniversario.",
        "No reserves nada antes de que hable con Marta.",
    ],
    "ja": [
        "リマには行かないと二人で決めました。", "私はナッツのアレルギーがあります。", "ルベンと呼んでください。",
        "母も一緒に来ますが、階段が上れません。", "四人で、うち二人は子どもです。", "アナはバスで酔います。",
        "去年から飛行機には乗らないので、電車だけです。", "全部で3200ユーロ以内に収めてください。",
        "14日は結婚十周年です。", "マルタと話すまでは何も予約しないでください。",
    ],
}  # fmt: skip


def chat(language, turns=50):
    """Return a chat with each of the sentences once, and sixty to three hundred hotels."""
    rng = random.Random(language)
    at = dict(zip(rng.sample(range(2, turns - 15), 10), SAID[language], strict=True))
    messages = [{"role": "user", "content": ASKS[language][0]}]
    for turn in range(turns):
        rows = [
            ROWS[language].format(
                rng.choice(HOUSES), rng.choice(PLACES), rng.randrange(60, 260), rng.randrange(2, 40), turn % 10
            )
            for _ in range(rng.randrange(3, 7))
        ]
        asked = rng.choice(ASKS[language])
        said = f"{at[turn]} {asked}" if turn in at and turn % 2 else at.get(turn, asked)
        messages += [{"role": "assistant", "content": "\n".join(rows)}, {"role": "user", "content": said}]
    return messages


def texts(messages):
    return "\n".join(map(str, (message["content"] for message in messages)))


@pytest.mark.parametrize("language", SAID)
@pytest.mark.parametrize("window", [2_000, 4_000])
@pytest.mark.parametrize("summarise", ["extract", "a model that forgets"])
def test_what_was_said_once_is_in_the_prompt_after_every_compaction(language, window, summarise):
    """ "We decided: no Lima, ever." was in no summary, while twenty prices of hotels were."""
    model = "extract" if summarise == "extract" else Scripted(lambda _: " ".join(PLACES))
    session = brim.Session(window=window, meter=METER, summarise=model)
    for message in chat(language):
        session.add(message)
        if message["role"] == "user":
            session.prompt()
    prompt = texts(session.prompt().messages)
    assert session.status().compactions >= 1
    assert [said for said in SAID[language] if said not in prompt] == []


def test_a_hotel_that_the_person_returns_to_stays_before_the_others():
    """Its price was dropped with the prices of hotels that nobody asked about again."""
    messages = chat("en")
    row = "Quinta Rocío in Porto: 118 euros a night, 3 minutes to the station, rated 9."
    messages[21]["content"] += f"\n- {row}"
    messages[60]["content"] = "Then Quinta Rocío is what we like most so far."
    assert row in plan(messages, meter=METER, room=3_000).summary()


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("format", ["openai", "anthropic"])
def test_a_prompt_shows_what_was_said_once(language, format):
    """A chat was a wall of questions, without what was said once; where roles take turns, older pairs were dropped."""
    messages = chat(language)
    sent = brim.fit_messages(messages, 1_600, meter=METER, format=format).messages
    assert [said for said in SAID[language] if said not in texts(sent)] == []
    assert sum(message["role"] == "assistant" for message in sent) >= 3, "the newest answers"
