"""Words that announce an answer, in several languages."""

import re

_BETTER = (
    r"(?:correct|right|best|final|closest|nearest|appropriate|accurate|suitable|likely|plausible|logical|"
    r"reasonable|probable|obvious|"
    r"chosen|selected|proper|valid|true|educated|my|our|remaining|possible|matching|corresponding|fitting|only)"
)
_THING = (
    r"(?:answer|ans|option|choice|solution|response|selection|conclusion|candidate|guess|pick|alternative|match|"
    r"fit|letter|one|bet|"
    r"statement|term|description|explanation|interpretation|assumption|estimate)"
)
_NO_MARK = r"(?!\s{0,3}[\"'(\[]{0,2}(?-i:[A-Z]|\d)[\"')\]]{0,2}(?!\w))"
_IS = (
    r"(?:\bis\b|\bare\b|'s\b|\bwas\b|\bbe\b|\bbecomes?\b|\bchange[sd]? to\b|\bremains?\b|\bseems?\b|"
    r"\bappears?\b|\blikely\b|:|=|->|→|⇒|\s[-–—](?=\s))"
    r"(?:\s{0,20}(?:to be|clearly|most|more|probably|likely|therefore|thus|definitely|indeed|still|simply|actually|"
    r"obviously|certainly|also|"
    r"then|hence|now|given|as follows|best|closest to|represented by|labell?ed|by|correctly|as|that|it|is|in fact|"
    r":|=|,|indicated by)(?![^\W_])){0,4}"
)
ANSWER_IS = re.compile(
    rf"(?:\b(?:{_BETTER}\s{{1,3}}(?:[a-z\-]{{1,14}}\s{{1,3}}){{0,2}}?{_THING}|answers?|"
    rf"ans)\b(?!\s{{1,3}}(?:choices?|options?)\b)|\bfinal\b(?=\s{{0,3}}:)){_NO_MARK}"
    rf"(?P<gap>(?:[^.!?\n:=]|\.(?=\d)){{0,90}}?)\s{{0,20}}{_IS}",
    re.IGNORECASE,
)
"""``the (correct) answer … is``; the gap holds "to the question", "here", "based on the graph"."""

HEADING = re.compile(
    r"[\s>#*\-]{0,20}(?:\d\.\s)?(?:the\s)?(?:(?:final|correct|my|revised|updated|corrected|best|closest|"
    r"short)\s{1,3})?"
    r"(?:answers?|ans|choice|option|solution|conclusion|result|decision|verdict|selection)\s{0,20}[:.]?\s{0,20}\n+",
    re.IGNORECASE,
)
CHOOSES = re.compile(
    r"\b(?:i|we|i'd|i'll|i'm|we'd|we'll|let's|let us|let me|would|should|must|will|therefore|thus|so|"
    r"hence|makes? me|made me|leads? me to)\b[^.!?\n]{0,50}?"
    r"\b(?:choose|pick|select|go(?:ing)? (?:with|for)|opt(?:ing)? for|settl(?:e|ing) (?:on|for)|"
    r"say(?: that)?(?: it's| it is)?|vote for|guess|"
    r"lean(?:ing)? towards?|stick(?:ing)? with|change (?:my answer|it|that) to|meant(?: to say)?|mean|"
    r"(?<!with )(?<!the )(?<!correct )(?<!my )answer(?! is\b)(?: with)?|favou?r|accept|"
    r"conclude (?:that )?(?:it is|it's|this is|the answer is)?)\b\s{0,3}:?|"
    r"\b(?:going with|going for|opting for|settling on|sticking with)\b",
    re.IGNORECASE,
)
SO = re.compile(
    r"(?:\b(?:so|thus|hence|therefore|consequently|then|actually|on (?:second thoughts?|reflection)|or rather|"
    r"(?:corrected|changed?|revised) (?:it )?to|scratch that|make (?:it|that)|but(?: rather)?|"
    r"(?:edit|correction|update)(?=:)|now(?=,\s)|"
    r"no(?=\s{0,2}[,:—–-])|nope|sorry|ergo|"
    r"namely|meaning|conclusion|overall|accordingly|yes|no wait|leav(?:es|ing)(?: us with| only)?|"
    r"it's|it is|it was|it must be|that's|that is|this is|must be|has to be|have to be|should be|would be|"
    r"can only be|could only be|closest to|"
    r"correspond(?:s|ing)? (?:to|with)|match(?:es|ing)|point(?:s|ing)? to|which (?:is|means|makes it)|makes it|"
    r"indicates?|suggests?|instead|definitely|"
    r"probably|likely|clearly|certainly|without a doubt|no doubt|named|called|known as|"
    r"looks? like|looks? to be|preference for|preferably)\b|->|→|⇒|=>|✓|✔|✅|∴)"
    r"(?:\s{0,20}[,:\-–—]|\s{1,3}(?:it's|it is|this is|that is|that's|the|we have|we get|most|likely|probably|"
    r"clearly|definitely|only|just|be|to be|still|actually|really|in fact|now|indeed|again|rather|obviously|"
    r"surely)\b){0,4}",
    re.IGNORECASE,
)
"""Weaker announcements: they count if a mark follows, or an option's text in a sentence that concludes."""

CONCLUDES = re.compile(
    r"\b(?:so(?! (?:do|does|did|far|that|many|much|called|is|are)\b)|thus|hence|therefore|consequently|"
    r"in conclusion|to conclude|overall|accordingly|in summary|"
    r"ultimately|finally|conclusion|as a result|"
    r"this means|that means|which means|we (?:can )?conclude|concluded|confirms|(?:that|this|which|it) leaves|"
    r"leaves (?:us|only|just|option)|makes it|daher|also ist|deshalb|"
    r"somit|donc|por lo tanto|"
    r"por lo que|quindi|portanto|dus|поэтому|следовательно|значит)\b|∴|因此|所以|综上|故|"
    r"よって|したがって|따라서|그러므로|므로|ので",
    re.IGNORECASE,
)

FOREIGN = re.compile(
    r"(?:(?:正确|最终|最佳|標準|标准)?(?:答案选项|答案|选项|選項)(?:应该|應該|应当)?(?:是|为|為|选|選|:|应为)|我?(?:认为|認為|觉得|猜)(?:答案|应该)?(?:是|选)?|"
    r"应该是|因此是|所以是|[【\[]?答案[】\]:]?|(?:故|应|應|因此|所以|我)?(?:选择|選擇|选|選)(?:项|項|擇)?(?!项|項)|"
    r"正解(?:は|:)|答え(?:は|:)|解答(?:は|:)|回答(?:は|:)|"
    r"(?:정답|답)(?:은|:|는|\s)|"
    r"\b(?:richtige|korrekte|beste)\w{0,2}\s(?:antwort|lösung|option)\w{0,2}\s?(?:ist|wäre|lautet|:)|\b(?:antwort|"
    r"lösung)\s?(?:ist|wäre|lautet|:)|\b(?:also|daher|somit|deshalb|folglich)\s(?:ist|bleibt)(?=\s)|"
    r"\b(?:das|es) (?:müsste|muss|dürfte|sollte)(?=\s)|\b(?:richtig|korrekt) (?:ist|wäre|sind)(?=\s)|"
    r"(?<!no )\bes(?=\s(?-i:[A-Z])(?:[.,;!]|$))|\b(?:donc|"
    r"c'est)(?: la| le)?(?=\s)|\b(?:es|das) ist(?: die)?(?=\s)|\b(?:creo|pienso) que es(?: la)?(?=\s)|"
    r"это(?=\s[A-Z]\b)|"
    r"\bich\s(?:würde|tippe|wähle|entscheide|sage|denke)[^.!?\n]{0,40}?(?:auf|für|sagen|nehmen|wählen)?|"
    r"\b(?:bonne|meilleure)\sréponse\s(?:est|serait)|\br[ée]ponse\s(?:correcte\s|exacte\s|finale\s)?(?:est|serait|"
    r":)|\bje\s(?:dirais|choisis|choisirais|pense que c'est|opte pour)|"
    r"\b(?:respuesta|opción|alternativa)\s(?:correcta\s|final\s|más probable\s)?(?:es|sería|:)|\b(?:yo\s)?(?:diría|"
    r"elijo|elegiría|escojo)(?:\sque\s(?:es)?)?|"
    r"\b(?:resposta|opção|alternativa)\s(?:correta\s|certa\s|final\s)?(?:é|seria|:)|\b(?:eu\s)?(?:diria|escolho)|"
    r"\b(?:risposta|opzione)\s(?:corretta\s|giusta\s|esatta\s|finale\s)?(?:è|sarebbe|:)|\b(?:direi|scelgo)|"
    r"\b(?:juiste|goede|correcte)?\s?antwoord\s(?:is|luidt|:)|"
    r"\b(?:prawidłowa|poprawna|właściwa)?\s?odpowied[źz]\s?(?:to|jest|:|brzmi)|"
    r"\b(?:правильный|верный|окончательный)?\s?ответ\s?(?:-|—|–|:|это|будет|является)|\b(?:правильный|"
    r"верный)\s(?:вариант|ответ)\s?(?:-|—|–|:)?|\bя (?:думаю|выбираю|выберу|считаю),?\s?(?:что\s)?(?:это)?|"
    r"\b(?:doğru\s)?(?:cevap|yanıt)\s?(?::|olarak)?|\bjawaban(?:nya)?\s(?:yang\s(?:benar|tepat)\s)?(?:adalah|:|"
    r"ialah)|"
    r"đáp\sán\s(?:đúng\s|chính xác\s)?(?:là|:)|câu trả lời\s(?:đúng\s)?là|"
    r"(?:सही\s)?(?:उत्तर|जवाब|विकल्प)(?:\sहै)?\s?:?|(?:الإجابة|الجواب|الاجابة)\s?(?:الصحيحة|الصحيح)?\s?(?:هي|هو|:)?|"
    r"\b(?:rätt|korrekt)\ssvar(?:et)?\s(?:är|er|:)|\bsvar(?:et)?\s?(?:är|er|:)|\boikea\svastaus\s(?:on|:)|"
    r"\bvastaus\s?(?:on|:)|"
    r"\bsprávná\sodpověď\s(?:je|:)|\bodpověď\s?(?:je|:)|\bσωστή\sαπάντηση\sείναι|\bhelyes válasz\s?(?:a|az|:)?|"
    r"คำตอบ(?:ที่ถูกต้อง)?(?:คือ|:)|mà là|\b(?:sondern|sino)\b|而是)"
    r"\s{0,3}(?:(?-i:la|il|der|die|das|l'|a|o|el|het|de|the)\s(?=\S))?",
    re.IGNORECASE,
)

PAST = re.compile(
    r"\b(?:initially|at first|first(?:ly)? (?:thought|leaned|said|guess|answer|glance)|originally|going to say|"
    r"wanted to|would've|i'd have|would have(?! to\b)|might have|have said|thought|tempt\w{1,4}|previous|earlier|"
    r"many|some|people|most would|was what|used to|if(?! i (?:had|have|must|were|was)\b| forced| pressed)|unless|"
    r"whether|suppose|my first|my second|not|\w{2,7}n't|"
    r"never|nor|cannot|wrong to|mistake to|someone|anyone|(?<!no )(?<!a )(?<!any )doubt|mistaken\w{0,2}|"
    r"wrongly|no matter|zuerst|d'abord|al principio)\b",
    re.IGNORECASE,
)

CORRECTS = re.compile(
    r"\b(?:wait|hold on|hang on|actually|scratch that|correction|corrected|revised|oops|my mistake|my bad|"
    r"on second thought|on reflection|on closer|"
    r"looking again|let me re\w+|i (?:misread|miscounted|misjudged|made (?:a|an) (?:mistake|error)|stand corrected|"
    r"was wrong|meant|mean|apologi[sz]e|take that back)|"
    r"sorry|apologies|or rather|update|hmm|double[- ]check\w*|i change|re-?check\w*|re-?count\w*|re-?think\w*|"
    r"reconsider\w*|that(?:'s| is|"
    r" was) (?:wrong|incorrect|not right)|nein|(?<!\w\s)moment(?=\s?[,!.–—]|\s-\s|\smal\b)|einen moment|warte|"
    r"je corrige|perdón|corrijo)\b|不对|等等|更正|いや|잠깐|\bno\s?[,—–-]|\bedit:",
    re.IGNORECASE,
)
TIES = re.compile(
    r"\b(?:(?:both|either|these two|the two|they)(?: of (?:these|them|the two))?(?: answers?| options?)? (?:are|"
    r"is|would be|seem|"
    r"could be|apply|fit|hold|(?:would|could|might) (?:fit|work|apply|do)|will do|may both)\b"
    r"(?: \w{1,14}){0,2}? ?(?:acceptable|correct|right|valid|fine|"
    r"possible|plausible|equally|"
    r"apply)?(?=[\s.,;]{0,3}$)|no way to tell (?:them|the two) apart|(?:won't|can't|cannot|couldn't) (?:pick|"
    r"choose|decide|prefer)"
    r" (?:one over|between)|as good an? \w{2,10} as|"
    r"(?:have|with) no (?:clear |real |strong )?preference|toss-?up\b|on the one hand\b[^.\n]{0,160}\bon the other\b|"
    r"equally (?:likely|good|plausible|valid|possible|suitable|well)|as (?:likely|plausible|probable) as|"
    r"between\b[^.\n]{1,40}\bi (?:can't|cannot|couldn't) (?:choose|decide|pick))",
    re.IGNORECASE,
)
"""Words that set two answers equal."""
RETRACTS = re.compile(
    r"\b(?:no,? wait|wait,? no|scratch that|(?:that|this|it)(?:'s| is| was| can't be| cannot be| must be| seems|"
    r" isn't| is not)\s(?:\w+\s){0,2}?(?:wrong|incorrect|right|correct|mistaken|true)(?: either)?|"
    r"i (?:misread|miscounted|misjudged|made (?:a|an) (?:mistake|error)|was wrong|take (?:that|it) back|withdraw|"
    r"retract|no longer)|"
    r"let me (?:recalculate|recount|redo|reconsider|rethink|start over|try again|re-?do|re-?examine|re-?evaluate)|"
    r"never ?mind|disregard|ignore (?:that|my)|"
    r"oops|forget (?:that|it|what i said)|i(?:'m| am) not (?:so |that )?sure (?:any ?more|about that)|"
    r"(?:however|but),? this (?:case|solution) (?:does not|doesn't|cannot) (?:satisfy|hold|work)|"
    r"can't be right|that doesn't (?:add up|fit|work|make sense))\b|不对",
    re.IGNORECASE,
)
_CLOSEST = re.compile(r"\b(?:just|only|simply|merely|but)\b[^.\n]{0,20}\bclosest\b", re.IGNORECASE)
"""``not exactly right, just the closest`` stands by the choice."""
_STARTLED = re.compile(r"\b(?:wait|however|no|hmm|oops|actually|sorry|hold on|oh|but|ah)\b", re.IGNORECASE)
_NEG_RIGHT = re.compile(
    r"(?:n't|not|cannot)\s(?:\w+\s){0,3}?(?:right|correct|true)|wrong|incorrect|mistaken", re.IGNORECASE
)
_CLAUSE = re.compile(r"[,;:(.!?]\s|\b(?:but|however|though|so|yet)\b", re.IGNORECASE)
_LEAD = 60
BAD = re.compile(
    r"\b(?:not|n't|never|neither|nor|wrong|incorrect\w{0,2}|false|excluded|eliminated|out|impossible|invalid|"
    r"falsch|nicht|pas|fausse?s?|no|sbagliata|ruled out|less|half)\b(?<!\bone out)|n't|错误|不",
    re.IGNORECASE,
)
"""Words of a verdict that rule an option out."""

NONE_FITS = re.compile(
    r"\bnone\s{1,4}of\s{1,4}(?:(?:the|these|those)\s{1,4})?(?:(?!other|remaining|rest|incorrect|first|last)\w{1,12}\s{1,4}){0,2}?"
    r"(?:options|choices|answers|alternatives)(?:\s{1,4}(?:\(?[A-Z]\)?\s(?:through|to)\s\(?[A-Z]\)?|given|provided|listed|"
    r"above|below|here)){0,2}\s{1,4}(?:is|are|seems?|appears?)(?: to be)?\s{1,4}"
    r"(?:correct|right|valid|accurate|true|suitable|appropriate)\b"
    r"(?![^.\n]{0,30}\b(?:exactly|precisely|except|but|other than))",
    re.IGNORECASE,
)
"""No option is right: this declines nothing, and it takes back whatever was chosen before."""


def retracts(text: str, start: int, end: int) -> bool:
    """Whether a sentence takes back what was said before it. "That is right" does not."""
    if NONE_FITS.search(text, start, end):
        return True
    found = RETRACTS.search(text, start, end)
    if not found:
        return False
    if _CLOSEST.search(text, found.end(), end):
        return False
    said = found.group().lower()
    if said.startswith(("that", "this", "it")):
        return bool(_NEG_RIGHT.search(said)) and bool(_STARTLED.search(text, start, end))
    return True


def clause_start(text: str, start: int, at: int) -> int:
    """Where the clause begins that ends at a place."""
    for boundary in _CLAUSE.finditer(text, start, at):
        start = boundary.end()
    return start


def past_before(text: str, start: int, at: int) -> bool:
    """Whether the clause before a place is about an earlier, a foreign or a supposed answer."""
    return PAST.search(text, clause_start(text, max(start, at - _LEAD), at), at) is not None
