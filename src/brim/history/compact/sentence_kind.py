"""The kind of a sentence by its form: a question, an open task or a report of work done.

The kind decides under which heading a hand-over lists a sentence. A sentence that no cue matches is listed under its
author, so the cues are few and certain: a report that is missed is harmless, an open task under "Done" is not.
"""

from __future__ import annotations

import re

UNSPACED = r"[\u0e01-\u0edf\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]"
"""Characters of scripts without spaces between words, and of Korean, whose words end in particles."""


def _cues(text: str) -> re.Pattern[str]:
    """Return a pattern of cues, each a regular expression for whole words, or for a part of a text without spaces.

    It is matched against casefolded text: ignoring case takes ten times as long.
    """
    cues = [cue.strip() for cue in re.split(r"[;\n]", text) if cue.strip()]
    unspaced = [cue for cue in cues if re.search(UNSPACED, cue)]
    return re.compile(rf"(?<!\w)(?:{'|'.join(cue for cue in cues if cue not in unspaced)})(?!\w)|{'|'.join(unspaced)}")


_TODO = _cues(r"""
todo:?; to do:; fixme; still; not \w{1,20} yet; not yet; yet to; nobody has \w{1,20}; next steps?; next[:,]; next i
remaining; remains; left to do; ha(?:ve|s) to; needs?; must; should; missing; pending; unclear; open; undecided
unresolved; will be; plan to; once we; once the; waiting for
offen; noch; fehlt; fehlen; unklar; steh(?:t|en) aus; muss; müssen; sollten?; als nächstes; sobald; wart(?:et|en|e) auf
todavía; aún; falta; faltan; hay que; pendiente; queda por; reste à; pas encore; il faut; à faire; en attente
ещё не; еще не; пока не; надо; нужн[оаы]?; нужен; осталось; должн[аоы]; должен; неясно; предстоит; никто не \w{1,20}
ждём; жду; следует
まだ; 未; 必要; べき; 予定; これから; かどうか; 待ち; 次に; 残; 不明; 尚; 还; 待; 需要; 应该; 下一步; 没有人; 打算
아직; 해야; 필요
""")
_DONE = _cues(
    r"""
(?:i|we|i['’]ve|we['’]ve|have|has been|was|were|is|are|all|and)(?: now)? (?:VERBS)
^(?:VERBS); is complete; in place; now works; works now; tests? (?:\w{1,20} )?pass(?:ed)?; (?:is|are) green; done[:.!]
erledigt; fertig; behoben; korrigiert; (?:ist|sind) grün; (?:habe|ist|sind|wurden?) .{0,60}(?:PARTICIPLES)
готово; сделано; прошли; (?:STEMS)\w{0,6}(?:н|на|но|ны|т|та|ты|о); (?:я|мы) (?:STEMS|провер)\w{0,3}л[аи]?
est terminé; j['’]ai (?:corrigé|ajouté); hecho; terminado; he (?:corregido|añadido|creado|borrado)
(?:修正|追加|変更|更新|削除|作成|実装|移行)しました; 完了; 済み; 通りました; 直しました; 書きました
已完成; 已经; 已修复; 已添加; 已删除; 已合并; 已更新; 已部署; 已解决; 修复了; 添加了; 完成了; 通过了; 改好了; 做完了
완료; 수정했; 추가했
""".replace(
        "VERBS",
        r"(?:fix|creat|add|implement|complet|finish|updat|remov|delet|merg|deploy|resolv|verifi|renam|refactor|install"
        r"|migrat|test|clos|committ|push|replac|mov|correct|check)e?d|wrote|rewrote|done",
    )
    .replace(
        "PARTICIPLES",
        "entfernt|angelegt|geschrieben|ergänzt|umbenannt|aktualisiert|erledigt|getestet|gelöscht|eingebaut|gemergt|erstellt"
        "|ausgeliefert|implementiert|abgeschlossen",
    )
    .replace("STEMS", "исправ|добав|обнов|созда|написа|закры|удал|слит")
)
_UNSURE = _cues(r"""
not; never; no; nobody; none; without; until; unless; before; once; when; if; whether; after; will; would; could; can
may; might; to be; going to; later; tomorrow; half; partly; almost; but; except; only; tried; \w{2,8}n['’]t
nicht; kein\w{0,2}; nie; niemand; ohne; bevor; bis; wenn; falls; wird; werden?; kann; können; später; morgen; fast; halb
aber; nur; не; нет; если; когда; будет; будут; можно; позже; завтра; почти; но; кроме; pas; si; quand; cuando
ない; ません; たら; れば; 前に; まで; 明日; 半分; が、; しかし; だけ; つもり; ください
没; 不; 如果; 之前; 以后; 将; 会; 可能; 明天; 一半; 但; 再; 않; 못
""")
"""Denial, condition, future, doubt or a part: a report has none of these."""


def sentence_kind(role: str, sentence: str) -> str:
    """Return the kind of a sentence of a person or a model.

    It is a `question`, what the user `told`, and of a model `todo`, `done` or what it `said`.
    """
    text = sentence.casefold()
    if text.endswith(("?", "？")):
        return "question"
    if text.startswith(("todo", "fixme", "[ ]")):
        return "todo"
    if role == "user":
        return "told"
    if _TODO.search(text):
        return "todo"
    return "done" if _DONE.search(text) and not _UNSURE.search(text) else "said"
