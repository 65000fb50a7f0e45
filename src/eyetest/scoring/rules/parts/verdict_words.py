"""The words of a verdict on a mark, and the words that make a letter the name of something else."""

import re

from eyetest.scoring.rules.parts import gates

VERDICT = re.compile(
    r"\s{0,3}[)\]\"']{0,3}\s{0,3}(?:(?:both|all|each) )?(?:\([^()\n]{0,80}\)|,[^,\n]{1,60},|"
    r"[-–:.]\s{1,3}(?P<aside>[^\n]{1,100}?)|"
    r"[-–:]\s{0,2}[^.\n]{1,60}?)?\s{0,3}"
    r"(?P<verb>is|are|seems?|appears?|must|would|should|has|looks|remains?|fits?|matches|ist|sind|est|sont|es|são|"
    r"son|è|jest|wäre|稳|是|は|이|가|正确|만)"
    r"(?P<between>(?:\s{1,3}(?:the|an?|not|n't|be|been|to|clearly|most|more|likely|probably|therefore|thus|"
    r"definitely|indeed|also|all|both|only|best|very|one|of|in|fact|very|quite|obviously|certainly|actually|hence|"
    r"still|never|neither|nor|probably|then|our|my|that|which|is|so|less|considered|overall|your|good|single|a|i|"
    r"think|closest|better|correct|right|ruled|out|die|der|das|nicht|la|le|une?|pas|les|deux|no|el|likely|far|wholly|"
    r"completely|partially|partly|simply|clear|too|plausible|potential|logical|valid|reasonable|"
    r"final)){0,6}?)\s{0,3}\b(?P<word>correct(?:ly)?|right|best|better|likelier|preferable|answers?|true|closest|"
    r"match(?:es)?|only|wrong|"
    r"incorrect|false|"
    r"left|fits?|likely(?!\s(?:due|because)\b)|plausible|appropriate|accurate|possible|remain\w{0,3}|suitable|one|excluded|eliminated|out|"
    r"impossible|invalid|well|perfectly|"
    r"richtig|korrekt|falsch|correcte?s?|bonnes?|possibles?|juste|fausse?s?|correct[ao]s?|incorrect[ao]s?|certa|"
    r"giusta|sbagliata|right|prawidłowa|"
    r"正确|错误|ruled out|stimmt|solution|choice|option)\b",
    re.IGNORECASE,
)
LABELS = gates.words(
    "figure fig point graph vitamin plan type group school bank machine project bus plate class section part "
    "line angle side vertex node case box cell company country curve diagram picture image panel phase region "
    "set site stage step structure table triangle vessel segment circle member switch ray position row column "
    "level house city town person player team island area layer lamp object circuit circuits hepatitis factor "
    "hemophilia solution bond stock fund asset portfolio street car train road sample product model force "
    "block state patient process species letter event sequence protein chart map schema"
)
"""What a letter names when it follows one of these: point B, vitamin C."""
