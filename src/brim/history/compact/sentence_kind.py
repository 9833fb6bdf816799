"""The kind of a sentence: a rule, a task, a failure, a decision or a report, in eight languages.

A word of success is not enough for "done": "the fix must be tested", "nobody has verified it" and "once it is merged"
have one too. So a sentence with any word of denial, duty, condition, future or doubt is never a report. All other
sentences have no kind. The cues are phrases: `*` matches the rest of a word, and `...` a few words.
"""

from __future__ import annotations

import re
from functools import cache

_UNSPACED = "[぀-ヿ㐀-鿿가-힣]"
"""Characters of Chinese, Japanese and Korean, between which no cue ends."""


_RULE = """
must; mustn't; never; always; do not; don't; shall; shall not; required to; only use; no more than; not allowed
forbidden; under no circumstances; make sure; be sure to; keep in mind; remember that
niemals; auf keinen Fall; immer; darf nicht; darfst nicht; unbedingt
никогда; всегда; нельзя; обязательно
jamais; toujours; nunca; siempre
必须; 禁止; 不得; 不要; 务必; 绝不
してはいけ; しないで; 必ず; 絶対に
하지 마; 반드시; 절대
"""
_NO_RULE = re.compile(
    r"\bmust (?:have|feel|be (?:so|quite|such|really|very|nice|hard|tough|great))\b"
    r"|\b(?:i|i'm|i've|we|we're|we've|it|it's|is|are|was|were|has|have|had|and) (?:always|never)\b"
    r"|\byou (?:don't|never) (?:have to|know)\b"
)
"""Rule words that are not a rule: a guess, or a habit."""
_OPEN = """
TODO; FIXME; XXX; still need; still needs; still have; still has; still must; still to; still not; still open
still missing; still waiting; remaining; remains to; remain to; remains open; remains unclear; next step; next steps
next:; next,; next up; next I; next we; not yet; not ... yet; left to do; to do:; to-do; have to; has to; need to
needs to; needs a; needs an; needs more; needs work; need a; must be; must still; should be; should look
should check; should ask; is to be; are to be; follow up; follow-up; outstanding; pending; waiting for; waiting on
waits for ... approval; waits for ... review; waits for ... answer; awaits; missing:; is missing; are missing
unclear; unresolved; undecided; is unknown; yet to; have not; haven't; has not; hasn't; did not get to
didn't get to; could not finish; couldn't finish; nobody has verified; nobody has tested; nobody has checked
nobody has reviewed; nobody has looked; no one has checked; will be; will have to; will need; once the; once it
once we; half done; half finished; half-done; plan to; want to; not done; not implemented; not finished; not merged
not scheduled; not verified; not written; not started; not tested; not deployed; not reviewed; not fixed; comes next
should ... look; open question; it is open; open:; ask ... whether; ask ... if
offen; offen ist; ungeklärt; unklar; unbekannt; noch nicht; noch zu; fehlt ein; fehlt eine; fehlt noch; fehlt.
fehlen; steht aus; steht noch aus; stehen aus; muss; müssen; muss noch; sollte; sollten; als Nächstes; sobald
bleibt zu; bleibt abzuwarten; halb fertig; warte auf; warten auf; wartet auf ... Freigabe; wartet auf ... Antwort
nachhaken; nicht fertig; nicht gefunden; nicht gemergt; nicht implementiert; nicht eingeplant; nicht geprüft
nicht getestet; nicht erledigt; nicht umgestellt; nicht geantwortet; hat ... niemand; habe vor; ist zu; sind zu
ist noch; nächste Woche; braucht noch; braucht eine; brauchen die; brauchen noch; fragen, ob; wird nach; anzulegen
will ich
ещё не; еще не; ещё нужно; еще нужно; пока не; надо; нужно; нужна; нужен; должен; должна; должны; предстоит
осталось; остаётся *ть; неясно; неизвестн*; не выяснен*; никто не пров*; никто не смотр*; жду; ждём
ждёт ... одобрени*; ждёт ... ответ*; ожидается; открыт вопрос; открытый вопрос; дальше я; требуется; придётся
придется; стоит посмотреть; планирую; планируем; хочу; спросить; уточнить; не хватает; наполовину; посмотрим
не закончен*; не завершён*; не завершен*; не найден*; не слит*; не запланирован*; не реализован*; не готов*
не проверен*; не сделан*; не смотрел*; до сих пор не; на следующей неделе; когда ... можно
reste à; pas encore; il faut; à faire; en attente; manque; todavía no; aún no; falta; faltan; hay que; pendiente
por hacer; queda por
まだ; 未確認; 未解決; 未定; 未実装; 未移行; 未完了; 未対応; 未着手; 未検証; 必要が; 必要に; 必要です; べき; なければ
不明です; が残って; 残りの; 待ちです; からの...を待って; 予定です; これから; つもりです; かどうか; 次に; たいです
分かっていません; わかっていません; 見つかっていません; すること。; 聞くこと; 不足して; 要改善; 要確認; 要対応
終わりません; 終わっていません; していません; されていません; できていません; 手が回り; 来週; たら...できます
待办; 还需; 还要; 还得; 还没; 还不; 尚未; 尚待; 有待; 待完成; 待定; 待确认; 下一步; 未解决; 未知; 不清楚; 没来得及
没能做完; 没有人; 没有安排; 没有合并; 没有实现; 需要
必须; 应该; 正在等; 在等第; 剩下的; 缺一; 缺失; 打算; 仍未; 下周; 一半。; 之后才; 之后再; 会在...之后; 要再; 也得
去问; 我想; 等...再; 要有人
아직; 해야; 필요합; 필요하; 남아; 대기; 미정; 미완; 기다리
"""
_FAILED = """
did not help; didn't help; does not help; did not work; didn't work; does not work; doesn't work; made no difference
no difference; no effect; no use; no luck; useless; dead end; gave up; give up on; rolled back; fails; failed
failing; crashes; crashed; broke; breaks; made it slower; made it worse; too slow; was wrong; changed nothing
did nothing; shows nothing; only delayed; ran out of; exhausted; not enough; not possible; impossible
never caught up; aborted; did not free; did not change; did not solve; did not fix; does not reproduce
could not reproduce; couldn't reproduce; cannot reproduce; did not compile; does not compile; does not build
rejected; returned garbage; collapsed; died; unreliable; deadlock; deadlocks; segmentation fault; is ignored
reverted
nicht geholfen; half nicht; half ... nicht; hilft nicht; hat nichts; brachte nichts; bringt nichts; nützt nichts
änderte nichts; änderte ... nicht; Sackgasse; aufgegeben; zurückgenommen; zurückgerollt; scheitert; scheiterte
gescheitert; fehlgeschlagen; schlug ... fehl; schlugen fehl; schlägt fehl; stürzt ... ab; abgestürzt; brach ... ab
brach ab; bricht; brach ... ein; zu langsam; langsamer; war falsch; nur verzögert; erschöpft; wirkungslos
reichte nicht; reicht nicht; abgelehnt; weist ... ab; klappt ... nicht; geht ... nicht; ließ sich ... nicht
funktioniert nicht; unzuverlässig; unbrauchbar; zerstört; starb; nie hinterher; nicht gelöst; tritt ... nicht auf
lieferte ... Müll; nichts Auffälliges; nicht baut; führte zu; endete mit; ging ... aus
не помог*; ничего не дал*; ничего не измен*; не работает; не сработал*; не снял*; тупик*; отказался; отказались
откатили; сломал*; ломается; падает; упал*; упёрлась; провалил*; медленнее; слишком медленн*; ошибочн*
лишь отложил*; исчерпал*; не удалось; не воспроизводится; не собрал*; не собирается; не получается; не изменил*
не показал*; не догнал*; прервался; невозмож*; бесполезн*; толку нет; пользы нет; не хватило; отклонил*; отвергает
рухнул*; умерл*; ненадёжн*; ненадежн*; кончилась; привело к ошибк*; дало ошибк*
a échoué; échoue; sans effet; n'a pas aidé; n'a pas marché; impasse; no funciona; no funcionó; sin efecto; falló
効果はありません; 効果がありません; 効果がな; 変わりませんでした; 変わらなかった; 壊れ; 落ちます; 落ちました
落ちるのが; 失敗し; 行き止まり; 断念; 差し戻; 遅くなり; 遅すぎ; 間違いでし; 間違って; 枯渇; 再現しま; 再現でき
追いつきま; 中断しま; 使えません; 文字化け; 反映されま; 行き詰ま; 役に立ちま; デッドロック; 不十分; 却下; 激減
コンパイルでき; 無視されます; つながりません; 直りません; 拒否し; メモリ不足; 不安定でし; 違反にな; 解けません
異常は出ま; ても...同じ
没有用; 没用; 没有任何变化; 没有变化; 崩溃; 没有释放; 推迟了; 更慢; 走不通; 没有效果; 毫无效果; 放弃; 被回滚; 失败
太慢; 是错的; 没有看出; 耗尽; 上不行; 段错误; 没追上; 复现不了; 无法复现; 中断了; 跑不了; 乱码; 不起作用; 编译不过
没有帮助; 死锁; 也不够; 拒绝了; 暴跌; 没变; 被...忽略; 连不上; 没有作用; 挂了; 内存不足; 误报; 破坏了; 不可靠; 坏了
실패; 효과가 없; 되지 않았; 충돌했; 포기
"""
_DECIDED = """
decided to; decided on; decided that; decided against; decide to; decide on; decision:; decisions:; agreed to
agreed on; agreed that; agreed upon; settled on; is settled; instead of; rather than; in place of; switch to
switched to; switched from; switching to; switching from; go with; goes with; going with; let's use; will use
I'll use; we use; we chose; I chose; our choice; opted for; the plan is; approved; picked; we drop; we keep; we stay
we take; we are switching; from now on; capped at; stays at; stays on; prefers; we go with
entschieden; Entscheidung; einig; geeinigt; vereinbart; steht fest; freigegeben; wir nehmen; nehmen wir
wir verwenden; verwenden wir; wir wechseln; wir bleiben; bleiben wir; gewählt; unsere Wahl; statt; ab jetzt
geplant ist; setze auf; ich verwende; nicht mehr unterstützt; wir nutzen
решил; решила; решили; решено; договорил*; выбрал; выбрала; выбрали; наш выбор; вместо; берём; берем; используем
использую; остановился на; остановились на; сошлись на; одобрил*; предпочёл; предпочли; переходим; остаёмся
остаемся; держим; храним; план такой; прекращаем
a décidé; avons décidé; choisi; au lieu de; decidido; decidimos; elegimos; en lugar de
决定; 改用; 选择; 选了; 选用; 选定; 采用; 同意; 商定; 约定; 批准了; 定为; 定了; 定在; 改为; 改成; 换成; 命名为
计划是; 不再支持; 继续用; 就用; 而不是
ことにし; と決め; に決ま; 決断; 決定; 合意; 採用; 選びました; 選択しま; 方針; 切り替えます; にします。; にしました。
のままに; のままです; 代わりに; 承認しました; 確定しました; までとします; 終了とします; で行きます; 計画です
결정; 선택; 채택; 합의
"""
_DONE = """
I fixed; I created; I added; I implemented; I completed; I finished; I wrote; I updated; I removed; I deleted
I merged; I deployed; I resolved; I verified; I renamed; I refactored; I installed; I migrated; I tested; I closed
I committed; I pushed; I replaced; I rewrote; I moved; I corrected; we fixed; we added; we deployed; we merged
we removed; have fixed; have added; have removed; have written; have updated; has been fixed; has been added
has been merged; has been removed; has been updated; has been deployed; was fixed; was added; was merged
was removed; was updated; was created; was deployed; were added; were fixed; were removed; is done; is fixed
is finished; is complete; is merged; is updated; is deployed; is implemented; is in place; is resolved; are done
are fixed; are updated; now works; works now; tests pass; tests passed; tests ... pass; all ... passed; all ... pass
is green; are green; ✓; ✅; and deployed it; done:; done.; done!; [x]
habe ... korrigiert; habe ... behoben; habe ... entfernt; habe ... angelegt; habe ... geschrieben; habe ... ergänzt
habe ... umbenannt; habe ... aktualisiert; habe ... erledigt; habe ... getestet; habe ... gelöscht
habe ... eingebaut; ist erledigt; ist fertig; ist behoben; ist korrigiert; ist angelegt; ist aktualisiert
ist gemergt; ist erstellt; ist geschrieben; ist entfernt; ist umbenannt; umbenannt ist; ist ausgeliefert
ist implementiert; ist abgeschlossen; ist eingebaut; wurde gemergt; wurde behoben; wurde entfernt; wurde angelegt
wurde erstellt; wurde aktualisiert; sind grün; ist grün; laufen durch; sind angelegt; sind aktualisiert
сделано; готово; я исправил*; я добавил*; я обновил*; я удалил*; я создал*; я написал*; я переименовал*; я проверил*
я закрыл*; я развернул*; мы исправили; мы добавили; исправлен; исправлена; исправлено; исправлены; добавлен
добавлена; добавлено; добавлены; обновлён; обновлен; обновлена; обновлено; обновлены; удалён; удален; удалена
удалено; удалены; создан; создана; создано; созданы; написан; написана; написано; написаны; слит; слита; слито
переименован; переименована; закрыт; закрыта; закрыто; завершён; завершена; завершено; реализован; реализована
реализовано; проверено; развёрнут; развёрнута; прошли; проходят; пройдены
est terminé; a été corrigé; j'ai corrigé; j'ai ajouté; está hecho; he corregido; he añadido; terminado
修正しました; 追加しました; 変更しました; 更新しました; 削除しました; 作成しました; 実装しました; 完了しました
解決しました; 対応しました; 設定しました; 導入しました; 移行しました; 配備しました; 修正済み; 追加済み; 更新済み
削除済み; 作成済み; 実装済み; 完了済み; マージ済み; 対応済み; 移行済み; 終わりました; 完成しました; 通りました
すべて成功; 直しました; 書きました; が完了
已完成; 已经完成; 已修复; 已经修复; 已添加; 已经添加; 已删除; 已经删除; 已创建; 已合并; 已更新; 已改名; 已部署
已解决; 已上线; 已实现; 完成了; 修复了; 搞定; 做完了; 写完了; 改好了; 更新完毕; 通过了; 全部通过
완료했; 수정했; 추가했; 완료됨
"""
_REPORTED = re.compile(
    r"(?:done|fixed|created|added|implemented|completed|finished|wrote|updated|removed|deleted|merged|deployed|resolved"
    r"|verified|renamed|refactored|installed|migrated|tested|closed|committed|pushed|replaced|erledigt|behoben|fertig"
    r"|готово|сделано)\b"
)
"""The start of a report without a subject."""
_UNSURE = """
not; never; no; nobody; none; without; yet; still; until; unless; before; once; when; if; whether; after; should
must; need; needs; needed; have to; has to; had to; will; would; could; can; may; might; to be; going to; plan
plans; pending; wait*; open; unclear; unknown; todo; remain*; left; missing; later; tomorrow; next; ask; who; why
which; half; partly; partially; almost; except; but; only; tried; cannot; unfinished; incomplete
nicht; noch; kein*; nie; niemand; ohne; bevor; bis; wenn; falls; sobald; muss; müssen; soll*; werde; werden; wird
kann; können; könnte*
offen; unklar; fehlt; fehlen; später; morgen; nächst*; ob; wer; warum; halb; fast; aber; nur; außer; versucht; damit
zu
не; нет; ещё; еще; пока; надо; нужно; нужна; нужен; должн*; должен; следует; если; когда; прежде; перед; будет
будут; буду; можно; может; осталось; остаётся; неясно; позже; завтра; ли; кто; кто-то; почему; чтобы; планир*; жд*
наполовину; почти; но; кроме; пытал*; попроб*; после
pas
jamais; encore; faut; si; quand; sera; aún; todavía; cuando; será; falta; nunca; no
ない; ません; 未
まだ; 必要; べき; 予定; たら; れば; 前に; まで; 待; かどうか; 不明; 残; 後で; 明日; 次に; つもり; たい; ください
半分; ほぼ; ですが; ましたが; したが; しかし; だけ; あと
没; 未; 尚; 还; 不; 待; 需; 应该
必须; 要; 等; 如果; 之前; 以后; 才; 将; 会; 可能; 是否; 谁; 下一步; 明天; 再; 一半; 但; 只
않; 못
아직; 해야; 면; 만약; 예정
"""
"""Denial, duty, condition, future, doubt or a part: a report has none of these."""
_THOUGHT = re.compile(
    r"(?:thought: ?)?(?:(?:but|and|so|now|then|ok|okay|actually|wait|hmm|well|first|next|also)[,. ]{1,2}){0,3}"
    r"(?:(?:wait|if i|if we|maybe|perhaps|let me|let's (?!use)|let us|i'll (?!use)|i will (?!use)|i should|i need"
    r"|i can|i could|i want|i'm going to|i am going to|we need|we should|we can|you can|please|what if|do i"
    r"|should i)\b"
    r"|(?:i am |i'm )?(?:now )?"
    r"(?:read|open|runn|look|check|search|list|view|fetch|inspect|load|try|call|scann|print)ing\b"
    r"|(?:that|this|it) took\b)"
    r"|(?:jetzt |nun |dann |erst )?(?:ich (?:sehe|schaue|prüfe|lese|lasse|öffne|starte|suche|führe|werde)"
    r"|(?:sehe|schaue|prüfe|lese|starte) ich|lass mich|mal sehen|alles klar)\b"
    r"|(?:сейчас |теперь |сначала |давай )?(?:посмотрю|проверю|запущу|открою|прочитаю|поищу|попробую|смотрю|проверяю"
    r"|читаю|запускаю|открываю|хорошо)\b|(?:je vais|voyons|voy a|vamos a)\b"
    r"|(?:好的|现在|接下来)?[，。]?(?:我来|让我|我先|[再先](?:看|跑|查|试|读)|好的)"
    r"|.{0,60}(?:見てみ|を見|確認し|実行し|調べ|開き|読み|探し)ます。?$|了解|承知|わかりました|はい[、。]",
    re.I,
)
"""A model thinks aloud, announces its next step, or says how long something took."""


def is_thought(sentence: str) -> bool:
    """Return whether a model thinks aloud in a sentence or announces its next step."""
    return _THOUGHT.match(sentence) is not None


def sentence_kind(role: str, sentence: str) -> str:
    """Return the kind of line that a sentence of a person or a model is.

    It is a `question`, a `rule`, `todo`, `error`, `decision` or `done`, or what the user `told` or the model `said`.
    """
    text = sentence.casefold()
    if text.endswith(("?", "？")):
        return "question"
    if role == "user" and _has(_RULE, text) and _NO_RULE.search(text) is None:
        return "rule"
    if _has(_OPEN, text) or text.startswith("[ ]"):
        return "todo"
    if not is_thought(sentence):
        if _has(_FAILED, text):
            return "error"
        if _has(_DECIDED, text):
            return "decision"
        reported = role == "assistant" and (_REPORTED.match(text) or _has(_DONE, text))
        if reported and not _has(_UNSURE, text) and "n't" not in text.replace("’", "'"):
            return "done"
    return "told" if role == "user" else "said"


def _has(cues: str, text: str) -> bool:
    """Return whether a casefolded sentence has one of some cues."""
    return _pattern(cues).search(text) is not None


@cache
def _pattern(cues: str) -> re.Pattern[str]:
    """Return a pattern of cues, which are separated by semicolons and line breaks.

    It is matched against casefolded text: ignoring case takes ten times as long.
    """
    spaced: list[str] = []
    unspaced: list[str] = []
    for cue in filter(None, (each.strip() for each in re.split(r"[;\n]", cues.casefold()))):
        found = re.escape(cue).replace(r"\.\.\.", ".{0,60}").replace(r"\*", r"\w{0,20}")
        (unspaced if re.search(_UNSPACED, cue) else spaced).append(found)
    return re.compile(rf"(?<!\w)(?:{'|'.join(spaced)})(?!\w)|{'|'.join(unspaced)}")
