"""How people decide, correct and prefer in English, and what they do not mean. Data, and one way to ask it.

Patterns run on one sentence in lower case, with straight apostrophes, quoted text cut out and leading
fillers taken off.
"""

# ruff: noqa: E501  A pattern broken in the middle is harder to read than a long line.

from __future__ import annotations

import re
from functools import cache

FILLERS = frozenset(
    """idea point ok okay k kk yes yeah yep yup ya fine sure alright right good great cool perfect nice sweet amazing
    excellent lovely awesome thanks thx ty ta tnx agree hmm hmmm hm uh um oh ah well so also and but then hey hi
    hello please pls plz agreed btw fyi note lol haha works true exactly correct indeed absolutely
    definitely understood ugh wow yay ha interesting anyway actually""".split()
)
AGREEING = frozenset(
    """agree ok okay k kk yes yeah yep yup ya fine sure alright right good great cool perfect nice sweet agreed
    exactly correct indeed absolutely definitely works true better then""".split()
)
ASSENTING = frozenset("yes yep yeah yup agreed agree exactly correct right true absolutely indeed".split())
REFUSING = r"^(?!(?:no|not|never|don'?t|wait)[ ,]+(?:idea|problem|worries|rush|thanks?|need|sure|mind|bad|bother|doubt|worry|yet|for|until|hurry)\b)(?:no+|nope|nah+|na+h|not|never(?! (?:thought|seen|heard|knew|had|been|used|tried|worked|got|did|saw|a\b))|don'?t|do not|(?:stop|whoa|wait|hold on|hang on)(?=[,.! ]+(?:no|not|you|don't|that's|thats|that|the|we|it|this|stop|undo|revert)\b)|please no|please don'?t|oh no|hell no|god no|ne+in|nein)\b"

# A “no” to what was just said or done; “no singletons here” and “don't use redux” may be rules of their own.
OBJECTING = r"^(?:no+|nope|nah+|hell no|god no|nein|oh no|please no|please not)(?:[,.!;:—–-]|$| [—–-]| no\b| that's| thats| it's| the\b| this| that| you\b| wait| use\b| we\b| i\b)|^not\b|^(?:stop|whoa|wait|hold on|hang on)\b"
# What is set aside: “not X”, “never X”, “instead of X”.
SET_ASIDE = r"\b(?:not|never|no|instead of|rather than|without|don't use|drop)\s+(?:(?:the|a|an|in|on|from|by|with|via|as|per|use|using|any)\s+)?(\S+)"

# --- what is not meant as a wish of its own
ASKING = (
    r"\?[\s)\"'”]*$|^(?:how|why|who|whose|which one|what(?! (?:matters|counts|i (?:do |really |said|meant|want|need)|we (?:need|want|said|agreed)))|where (?:is|are|do|does|did|should|can)|when (?:is|are|do|does|did|will|should)"
    r"|is (?!banned)|are|am|was|were|does|did|do (?:we|you|i|they)|can (?:you|we|i|it|u)|could|would|should (?:we|i|it be possible|you|that|this)|will (?:it|this|that|we|you)|have (?:you|we)|has (?:it|the)|any (?:idea|reason|chance|thoughts))\b"
)
SUPPOSING = (
    r"^(?:suppose|supposing|imagine|assuming|say we|let's say|lets say|pretend|hypothetically|what if|if only|in theory|theoretically|in a perfect world|just curious|curious|one day)\b"
    r"|\bhypothetical|\bwould be (?:nice|cool|great|fun|funny|interesting)\b|\bwould (?:love|like to)\b|\bi wonder|\bwondering\b|\b(?:maybe|perhaps) (?:we|i|you|some ?day|later|one day|next)\b|\bwe could\b|\bone could\b|\bcould be (?:nice|fun)\b"
    r"|\bthought experiment\b|\bfor the sake of argument\b|\bi (?:tend|lean) to\w*|\bleaning to\w*|\bnot sure (?:if|whether|yet|about)|\b(?:haven't|not|nothing|isn't|is not) (?:yet |really |been |call it )*decided\b|\bundecided\b|\bi dunno|\bdunno\b|\bno idea\b|\bin an ideal\b|\bif (?:we|i) (?:had|were|could|did|ever)\b"
)
# Where the person is, how the day goes: talk that ends with the moment.
MOMENTARY = r"\b(?:left for (?:today|now)|so far|right after|this (?:morning|afternoon|evening)|over the weekend|after lunch|lunch now|for lunch|see you|i'm (?:off|back|done|out)|brb|gotta|good night|my bad|(?:back|home) (?:at|in|from|by)|call it a day|done for today|went (?:well|fine|great|bad\w*)|loved it|whole (?:morning|day|afternoon|evening|week)|never again|no (?:energy|time|mood|patience|nerves?))\b|(?<!from)(?<!of) today$|^(?:back|last one|next|one more|new thing|next (?:thing|topic|one|up)|last thing|another thing|one thing|so|ok|phew|right)$"
SARCASM = r"^oh great\b|\b(?:nobody|who) needs\b|\bwhat could (?:possibly )?go wrong\b|🙄|🙃|\byeah right\b|\bjust what i needed\b|\bto mars\b"
JOKING = r"\b(?:lol|rofl|lmao|haha+|hehe+|kidding|joking|j/k|jk)\b|😂|🤣|🙃|😜|😉|\s/s$|\bdreams$|\bmillion dollars\b|\bwould kill\b.*\blol\b"
LATER = (
    r"\b(?:not (?:now|today|yet|this week|for today)|some ?day|sometime|some other (?:time|day)|maybe later|another (?:day|time)|next (?:week|month|sprint|quarter|year)|tomorrow|tonight|after the (?:release|demo|holidays)|one of these days|eventually|no (?:budget|time for|rush)|in the (?:future|next)|backlog|for later|sleep (?:over|on) it|think about (?:it|that)|we'll see|let me think|will see|bring it up)\b"
    r"|^(?:leave|skip|forget|drop|ignore|never ?mind|nvm|park)(?: it| that| this| (?:it )?alone| about it| the \w+)*(?: then| please| for now| thanks?| thx)?$|^later\b|^(?:wait|hold)(?: on)? (?:until|till|for|a)\b|(?<!s )\blater$|\b(?:do|fix|add|handle) (?:it|that|this|them) later\b|^never ?mind\b|^(?:whatever|good enough|enough)\b|\blet me (?!know)|^(?:(?:no+|nope|nah+),? )?(?:i'll|i will|i'm going to|i am going to|gonna|i do (?:that|it)\b|i'd have to)\b"
)
_OTHERS = (
    r"(?:docs?|documentation|readme|manual|book|article|blog(?: post)?|post|tutorial|paper|rfc|guide|linter|compiler|log|tooltip|comment|ticket|reviewer|colleague|coworker|co-worker|boss|manager|professor|teacher"
    r"|vendor|support|users?|customers?|clients?|somebody|someone|people|everyone|designers?|marketing|sales|release notes|changelog|stack ?overflow|reddit|chatgpt|copilot|he|she|they|friend|maintainers?|author|wiki|forum|guy|intern|cto|ceo|pm|pr|team)"
)
REPORTED = (
    rf"\b{_OTHERS}\b[^,.;:]{{0,40}}(?<!to )\b(?:says?|said|tells?|told|writes?|wrote|reads|recommends?|recommended|suggests?|suggested|claims?|claimed|asks?|asked|argues?|argued|thinks?|thought|wants?|wanted|insists?|proposed|advises?|states?|demands?|demanded|complains?|complained|prefers?|mentions?|mentioned|would say|swears?)\b"
    r"|^(?!i |we |you )[a-z]+(?: from \w+)? (?:says|said|told me|wrote|thinks|claims|suggests|suggested|recommends|insists|proposed|would say|keeps saying)\b|\baccording to\b|\bit (?:says|said|reads|recommends)\b|\bquot(?:e:|ing\b)|\bi(?:'ve)? (?:read|heard|saw)\b.*\bthat\b|\bas the saying goes\b"
)
GOING_AHEAD = (
    r"^(?:go(?: ahead| for it| on)?|do (?:it|that|so|both|this)|ship(?: it)?|merge(?: it)?|commit(?: it| that| this)?|push(?: it)?|put it in|proceed|continue|apply (?:it|that)|run (?:it|them|that)|try (?:it|that|again)|go ahead and \w+ (?:it|them|that|those)|make it so|looks? (?:good|fine|great)|lgtm|sounds? (?:good|fine|great|right)|that's (?:it|fine|good|great|the one|all)"
    r"|all (?:good|green)|done|that works|works(?: now| fine| great)?|go go|deploy(?: it)?|release it|tag it|open (?:a|the) pr|that one works|keep going|carry on|you can (?:commit|push|merge|go)\b.*|let's (?:go|do (?:it|that|this)|see|start|begin|continue|move on|commit|merge|ship it|push|try(?: it| that)?))(?: please| pls| now| then| and \w+(?: it)?| thanks?| thx)*$"
)
NARRATING = (
    r"^now (?:it|the|that|i)\b|^(?:it|that|this|there|he|she|they)(?:'s| is| was| were| seems| looks| fails?| works| works?| happens| breaks| crash\w*| still| now| does| did| has| had)\b|^(?:it|she|he) \w+s\b(?!.*\bso\b)(?! (?:to|on|with)\b)|^i (?:always|never|usually|often) (?!want)|^i (?:only |just |still |also )?(?:get|got|see|saw|think|guess|found|tried|have|had|was|am|ran|did|moved|know|forgot|need to (?:leave|go)|just|already|'m)\b"
    r"|^(?:flashing|testing|checking|running|deploying|looking|trying|rebooting|waiting|building)\b|\bthat's the problem\b|\bi think$|\bmakes sense\b|^(?:same|still) (?:error|problem|issue|thing)\b|\b(?:gone|works|broken|passes|fails) (?:on|for) (?:my|me)\b"
)

# --- preferences
PREFERRING = (
    r"\bi(?:'d| would) (?:like|rather|prefer|appreciate|love)\b(?! (?:your |some |a bit of )?help).*\b(?:you|your)\b|\bi want you to\b|\bi want to (?:see|review|approve|read|be asked)\b|\bin (?:all |any )?my (?:projects|repos|code|scripts|files|plots|docs)\b|\b(?:code|scripts?|tests?|functions?|everything|anything|files?) (?:that )?you (?:write|generate|make|add|touch|create|change)\b|\b(?:just do it|don't ask)\b|\bno need to (?:ask|explain|confirm|summari[sz]e)\b|\bthat's just (?:me|how i)\b|\bi'm (?:on|using) (?:mobile|a phone|my phone|a small screen)"
    r"|\b(?:always|never|please|pls)\b.*\b(?:commit messages?|comments? in|answers?|explain|summar(?:y|ies|i[sz]e)|diffs?|questions?|docstrings?|variable names?|snippets?|one-liners?)\b|\balways\b.*\b(?:before|after|when)\b.*\b(?:you|commit\w*|push\w*|show\w*|committing)\b|\bafter (?:each|every) (?:change|edit|step|commit|file)\b|\bi (?:always|usually|normally|generally) (?:want|like|prefer|use|work|write|do)\b"
    r"|\b(?:shorter|briefer|less verbose|more concise|less prose|more detail)\b.*\b(?:please|pls|in general|always|answers?)\b|\bask me\b|\b(?:show|give|send|tell) me [\w ]{2,30}, (?:not|no|never)\b|\b(?:talk|speak|write|answer|reply) (?:in )?(?:german|english|french|spanish|italian|dutch|polish)\b|\bi (?:really )?(?:never|don't ever) want to (?:see|read|have)\b|\b(?:without asking|unless i (?:ask|say|tell)|until i (?:ask|say|tell)|ask (?:me )?(?:first|before))\b|\b(?:please |pls )?(?:don't|do not|never|stop) (?:explain|apologi[sz]e|apologi[sz]ing|summari[sz]e|repeat|flatter|ask me|add comments|write comments|commit (?:anything |things )?(?:without|before|unless|yourself)|push (?:anything |things )?(?:without|before|unless|yourself)|explaining|summari[sz]ing|repeating|asking)\b|\bone (?:commit|pr|question|step|file|change|thing) (?:per|at a time)\b|\b(?:show|give|send) me (?:the |a )?(?:diff|plan|summary|command|patch)s? (?:first|before|only|always|and (?:wait|ask))\b|\bcommit messages? (?:in|always|should|must|short|lower|are|like|with|without)\b|\bi (?:read|review|work|type|use|look at) [^,.]{2,40}(?:, so|so please|so pls|that's why)\b|\b(?:i'm|i am) (?:a fan of|not a fan|used to|allergic|old school|picky)\b|\bcall me \w+$|\b(?:plain|simple) english\b|\bin (?:german|english|french|spanish|italian|dutch|polish) (?:please|pls|from now|only)\b|\bmy (?:style|taste|preference|habit)\b"
    r"|\bi (?:really |generally |usually |always |just |also |personally |kinda )*(?:prefer|hate|dislike|can't stand|cannot stand|love|like|want|need|expect|appreciate)\b(?! (?:to (?:know|see|hear|talk|think|understand)|it$|that$|this$|the (?:second|first|idea|look)))"
    r".*\b(?:always|never|ever|in general|everywhere|every|each|all|from now on|when(?:ever)? you|you (?:write|give|show|run|make|do|send|commit|explain|answer|report|change)|style|answers?|repl(?:y|ies)|explanations?|comments?|commits?|messages?|summar(?:y|ies)|diffs?|lists?|docs|code you|for me|before you|before (?:adding|changing|touching|running)|short|brief|concise|terse|prose|bullet\w*|emojis?)\b"
    r"|\b(?:ask|tell|show|give|warn|ping|check with) me (?:first\b|always|only|before|every|in (?:general|future|english|german|french|spanish))"
    r"|\b(?:next time|in future|in the future|every time|each time|any ?time|when(?:ever)?|before|after|always when|if) (?:you|u) (?:\w+ )?(?:write|give|show|run|make|do|send|commit|explain|answer|report|change|push|finish|edit|touch|add|start|refactor|create|propose|suggest|open|reply|are done|work|summari[sz]e|quote|name|generate|delete|install|use|call)\b"
    r"|(?:^|\b(?:please|pls|always|you|and) )(?:answer|reply|respond|talk|write|speak|explain)(?: to)?(?: me)? (?:in|only in|always in|shortly|briefly|short)\b|\b(?:keep|make) (?:your |the |all )?(?:answers?|repl(?:y|ies)|explanations?|summar(?:y|ies)|messages?|responses?)\b|\byour (?:answers|replies|explanations|summaries|messages|responses|commit messages)\b"
    r"|\b(?:before|after) (?:every|each|any) (?:push|commit|merge|pr|release|deploy|change|edit|answer)\b|\bfor (?:me|my taste)\b.*\b(?:always|never)\b|\b(?:always|never)\b.*\bfor me\b|\bplease (?:always|never)\b|\b(?:please|pls),? (?:no|without) (?:prose|emojis?|bullet\w*|filler|small ?talk|apolog\w+|summar\w+|lists?|preamble|explanations?)\b"
    r"|\bpls explain\b|\b(?:no|without|skip the|drop the|stop the|spare me the) (?:emojis?|apolog\w+|flattery|filler|small ?talk|preamble|pep talk|praise)\b|\bexplain (?:commands?|things|what|every|each|it)\b.*\b(?:before|always|first)\b|\bin general i\b|\b(?:that's|this is) how i (?:always )?(?:want|like)\b|\bi'm (?:colou?r ?blind|learning|new to|a beginner)\b"
    r"|^(?:always|never)\b.*\b(?:show|tell|ask|explain|answer|summari[sz]e|report|when you|before you|after you|you write|you run|commit messages?|to me)\b"
    r"|\b(?:future|any|all) work with me\b|\b(?:one|a) general (?:thing|request|note|wish|remark)\b|\bstyle note\b|\bmy rule\b|\bin all (?:my |our )?projects\b|\b(?:simple|plain|easy) (?:words|language)\b|\bshort sentences\b|\bi (?:really |generally |usually |personally )*(?:prefer|hate|dislike|detest|can't stand) \w+|\bthat's how i (?:work|like|want|do)\b|^(?:please |pls )?stop (?:adding|using|writing|putting|asking|telling|explaining|making|doing)\b"
    r"|\b(?:results|reports?|numbers|sizes|times|dates|output|summaries|examples|plans) (?:always|only|never) (?:as|in|with)\b"
)

# Tells the agent how to go about its work, whatever it works on.
_CONDUCT = r"(?:run|commit|push|merge|rebase|squash|amend|format|lint|test|check|show|ask|explain|tell|touch|edit|install|force|guess|assume|start|begin|open|paste|print|quote|mention|reformat|summari[sz]e|write (?:tests|the test|a test|comments)|double-check|verify|read|list|point|warn|propose|suggest|try)"
CONDUCTING = rf"(?:^|[,;:] ?|\b(?:please|pls|and|but) )(?:always|never|don't ever|do not ever) (?:just |simply )?{_CONDUCT}\b|\b(?:from now on|going forward|in (?:the )?future|next time|in general)\b,?(?: please| pls| always)* {_CONDUCT}\b|\b{_CONDUCT} [^,;.]{{2,60}}\b(?:every time|each time|from now on|in (?:the )?future|next time|by default)\b"

# --- corrections
_MISDONE = r"(?:forgot|forgotten|missed|dropped|used|removed|deleted|changed|put|left|renamed|computed|calculated|gave|took|taken|added|broke|broken|skipped|ignored|assumed|picked|chose|wrote|written|returned|sorted|counted|moved|replaced|implemented|overwrote|hardcoded|translated|turned|set|indented|named|called|swapped|mixed|inverted|confused|misread|misunderstood|named|spelled|imported|hard-coded|edited|touched|duplicated|reverted|bumped|logged|cached|typed|pinned|copied|escaped|rounded|truncated)"
CORRECTING = (
    rf"\byou(?:'ve| have| just| also| again| still)* {_MISDONE}\b|\bthat(?:'s| is|s)? (?:just |simply |plain |completely |not )?(?:wrong|incorrect|not right|not correct|not true|not what|backwards)\b|\b(?:is|are|was|were|looks|it's) (?:wrong|backwards|inverted|swapped|reversed|incorrect|upside down)\b|\b(?:got|have|had|did|read|understood|put|took) (?:\S+ ){{1,4}}(?:wrong|backwards)\b|\bthe wrong \w+|^wrong\b|\bwrong (?:place|file|way|one|direction|branch|folder|name|unit|order)\b"
    r"|\bwe (?:call|name|say|write|spell) (?:that|it|this|them|these|those)\b|\b(?:outdated|out of date|not any ?more|old news)\b|^that(?:'ll| will|'d| would) (?:kill|break|hurt|lose|block|leak|fail|cost|not|never)\b|^(?:they|it|that|those) (?:were|was|are|is) .*\balready\b|^(?:undo|revert|roll (?:it|that) back)\b.*[,;.:]|\bundo (?:that|it|this|the)\b|\b(?:take|put|bring|move|change|switch|turn) the [\w -]{1,30} (?:back|out again|out)\b|\b(?:take|bring|move|change|switch|turn) (?:it|that|this|them) (?:back|out again|out)\b|\b(?:remove|delete) (?:it|that|this|the [\w -]{1,30}) again\b|\bi (?:said|meant|asked for|told you|never said|never asked|didn't (?:say|ask|want|mean))\b|\bnot what i\b"
    r"|\b(?:doesn't|does not|do not|don't|didn't) exist\b|\b(?:isn't|is not|aren't|are not) (?:a thing|there|called|named|supported|the (?:right|same))\b|\bshould(?:'ve| have) (?:been|used|said|gone|kept|had)\b|\bshouldn't have\b|\bthere(?:'s| is| are) no (?:such|\w+ called)\b|\bthe other (?:way (?:a?round)|direction)\b|\bmisread|\bmisunderst|\bmixed up\b|\bthat's not how\b|\bnot true\b|^(?:almost|close|not quite|not exactly)[,.!—-]"
    r"|^mistake\b|^careful\b|\bin your (?:commit|code|change|test|patch|message|example|version|plan|summary|draft)\b|^(?:the|this|that|it|our|those|these) [\w ]{0,30}\b(?:is|are|was|were) (?:correct|right|intended|intentional|deliberate|on purpose|by design)\b"
    r"|\b(?:is|are) (?:already )?(?:taken|reserved|deprecated|obsolete)\b|\bno longer (?:use|exist|have|support)\w*"
)
# Wants what was written into a file otherwise.
DEMANDING = r"\b(?:should|must|has to|have to|needs? to|ought to) (?:be|have|use|go|say|return|stay|not|only|come|live|start|end|read)\b|\binstead\b|\brather than\b"
# Says outright that something is not so.
DENYING = r"\b(?:wrong|incorrect|not (?:true|right|correct)|mis(?:read|understood|understanding)|i (?:said|meant)|not what i)\b"
# Finds what the agent named too short, too much, too strict.
EVALUATING = r"\b(?:is|are|would be|will be) (?:enough|plenty|sufficient|overkill)\b|\b(?:is|are|seems|sounds|looks) (?:way |far |much |a bit |rather )?(?:too )(?:\w+)\b|\b(?:is|are) (?:way |far |a bit |rather )?(?:short|little|few|many|high|low|tight|strict|loose|early|late)\b"
# What the agent took does harm.
HARMING = r"\b(?:breaks?|kills?|leaks?|loses?|costs?|hurts?|blocks?|hides?|makes? (?:them|it|us|people|users)|causes?|confuses?|eats?|exposes?|violates?|will (?:break|kill|leak|lose|fail|block))\b"
# “Must be 403”: what it is about is what the agent just told.
ELLIPTIC = r"^(?:it |that |this |they |those )?(?:must|should|has to|have to|needs? to|ought to) (?:be|have|go|use|say|return|stay|come|live|start|end|not|never|only)\b"
# Takes what the agent named, or says that it is right.
ACCEPTING = r"\b(?:then|convinced)$|\bit is(?: then| again)?$|\b(?:is|are|looks?|sounds?) (?:ok|okay|good|better|best|fine|great|nice|perfect)\b|(?<!not) \b(?:ok|okay|yes|good|👍)$|^(?:you're|you are|you were|u r) right\b|^(?:agree|agreed|convinced|makes sense|fair)\b|\bmakes sense$"
# How it went or what it is like, no other way to do it.
APPRAISING = r"\b(?:nice|great|good|well|cool|loved?|wow|phew|grand|perfect|better|worse|plenty|honest|dangerous|funny|went|now|was|were|already|deployed|merged|shipped|pushed|done|nothing|everything|works?|green|faster|slower|luck|what)\b|[<>]"
# A thing to be done now.
TASK = r"^(?:can you |could you |please |pls |now |then |also |go |just )*(?:rename|add|delete|remove|update|bump|upgrade|fix|write|create|show|open|look|check|find|explain|print|run|rerun|list|give|tell|compare|refactor|implement|generate|draw|plot|format|copy|read|review|test|debug|profile|translate|grep|search|count|describe|document|extract|clean|summari[sz]e|commit|push|deploy|merge|install|try|build|start|restart|undo|continue|help|(?:send|show|give|tell) (?:me|us))\b"
# Sets one thing against another: what is right, and what the agent took instead.
CONTRASTING = (
    r"[,;:—–(]\s*(?:and |but )?(?:not|never|no|instead of|rather than|nicht) (?!all\b|yet\b|only\b|sure\b|needed\b|necessary\b|a problem|now\b|today)[\w`'\"/=.:*-]+|\bnot (?:the |a |an |in |on |from |by |with |via |as |per )?[\w`'\"/=.*:-]+[,;.!—–-]|\binstead\b|\brather than\b|^(?:not|never|no) (?!idea|problem|worries|need|rush|thanks|doubt|matter|way\b)[\w`'\"/=.*:-]+"
    r"|\bnot (?:the |a |an |in |on |from |by |with |via |as |per |at )?[\w`'\"/=.*:-]+$|\bonly\b|\bmust (?:be|stay|have|not|never|go|use|come)\b|\bnever\b|\bhas to (?:be|stay|go)\b|\bneeds? to (?:be|stay|go)\b|\bshould (?:be|go|stay|say|read|use|come|return|live|have|not|never|only)\b|\bstays?\b|\bmeans\b|\bwithout\b|\bno \w+ (?:please|pls)\b|\bbelongs? (?:in|to)\b|\bwants? [\w`]+|\b(?:here|in this (?:repo|project|codebase)|for us|with us)\b"
)
REJECTING = r"\bno good\b|\bdon't like\b|\bnot (?:good|what i|the way|acceptable|like that|ok|okay|nice|great|happy)\b|\b(?:revert|undo|take (?:it|that) (?:back|out)|roll (?:it|that) back|back (?:it|that) out)\b|^(?:no+|nope|nah)\b|\bwrong\b|\bhack(?:y)?\b|\bcheating\b|\bhides?\b|\binstead\b|\bugly\b|\bworkaround\b|\bpapers? over\b|\bsymptom\b|\bstill (?:fails|failing|broken|happens|flaky)\b|\bfails again\b|\bback again\b|\bnot fixed\b|\bdidn't help\b|\bthen it's no\b"

# --- decisions
STANDING = (
    r"\bfrom (?:now|here|today) on\b|\bgoing forward\b|\bfrom (?:v?\d[\w.]*|january|february|march|april|may|june|july|august|september|october|november|december|next \w+) on\b|\bhenceforth\b|\b(?:let's|lets|let us) (?!see\b|look|talk|think|check|discuss|find|figure|hope|wait|say\b|assume|pretend|imagine|understand|review|debug|recap|test\b|continue|start|begin|get started|go\b|have a look|take a look|run\b|explore|investigate|dig|try|commit|push|merge|not call|do (?:it|that|this)\b|move on|call it|tackle|watch|finish|fix|wrap|leave|clean|write|rerun|deploy|ship|meet|circle|revisit|park|postpone|skip|focus|work|deal|take care|get|ask|stop|rest|celebrate|not\b|be\b|just see)\w+"
    r"|\b(?:we|it) (?:stay|stays|stick|sticks|remain|remains) (?:on|with|at|to)\b|\bwe (?:should (?:use|never|always|only|keep|avoid|not)|don't \w+|dont \w+|do not|went with|chose|picked|settled|agreed|voted)\b|\bwe (?!(?:have|had|has|are|were|was|is|am|be|could|can|can't|cannot|might|may|must|need|want|wanted|know|knew|see|saw|think|thought|guess|should|would|will|did|didn't|does|tried|try|got|get|met|meet|talk|talked|discuss|discussed|found|find|lost|lose|broke|ran|run|hit|wrote|said|told|just|already|still|also|recently|once|all|both|two|three|four|five|six|usually|currently|hope|wait|continue|live|sit|work|look|like|love|hate|pay|paid|miss|missed|left|spent|spend|wonder|believe|fear|feel|go (?:live|on|to)|come|came|went|put|set|read|made|used|began|kept|took|gave|fixed|in|at|on|as|of|who|that|to|for|really|probably|maybe)\b)(?!\w+ed\b)[a-z]{2,}\b|\bwe(?:'ll| will) (?:use|go|keep|store|stay|have|do|take|drop|ship|support|stick|switch|move|call|make)\b|\bwe(?:'re| are) (?:using|going with|keeping|dropping|staying|moving|switching|sticking)\b"
    r"|\bagreed (?:in|with|on|yesterday|last|today)|\b(?:i|we)(?:'ve| have)? (?:now |finally |just )?decided\b|^(?:decision|decided|final decision|verdict|rule|policy|convention)\b|\bfinal (?:answer|decision|call)\b|\bsettled\b|\bsource of truth\b|\b(?:is|are|counts? as|be) the (?:reference|standard|default|rule|convention|policy)\b|\bcounts? as (?:the )?(?:reference|truth|standard)\b|\benforce\b"
    r"|\b(?:is|are|will be|must be) (?:banned|forbidden|mandatory|required|off limits|not allowed)\b|\b\w+ (?:must|may|shall) (?:not |never |always |only )?(?:be|have|go|use|come|stay|live|carry|return|start|end|contain|run|pass|leave|touch|know|see)\b|\b(?:is|are|be|gets?|must be) (?:always|never|only) \w+|\b(?:always|never) (?!mind|thought|seen|heard|knew|been|worked|forget|again|had|got|did|saw|\w+ed\b|\w+ (?:me|us)\b)\w+|\bfor all (?:\w+ )?\w+|\b(?:everywhere|across the board|by default|as a rule|without exception)\b|\b(?:nothing|everything|anything)\b(?! (?:is|was|has been) (?:decided|fixed|sure|clear|broken|done))[\w ]{0,30}\b(?:goes|is|stays|comes|lives|may|must|should|gets|has)\b|(?<!the )(?<!if )\bonly\b(?! (?:the \w+ )?(?:left|remaining|missing|took|needed|need|once|way|thing|problem|question|happens?|fails?|because|had|have|got|see|saw|know|wanted|then|now)\b)"
    r"|^no (?!idea|problem|worries|need|rush|thanks|doubt|matter|way\b|longer|hurry|luck|clue|change|error|output|one\b|wonder|i\b|it\b|that\b|this\b|the\b|we\b|you\b|wait)[\w` -]{2,50}(?:\bfor\b|\bin\b|\banywhere\b|\bhere\b|[,;]|$)|\b(?:i|we) (?:don't|do not|never) want (?:any |to (?:see|have) )?(?!it\b|that\b|this\b|to\b)\w+|[,;] no (?!idea|problem|worries|need|rush|thanks|matter|longer|wait|i\b|it\b|that\b|this\b|the\b|we\b|you\b)\w+|^(?:please |pls )?(?:don't|do not|never|avoid)(?: ever)? (?!worry|bother|forget|mind|know|think|thought|seen|heard|knew|had|been|used|tried|worked|got|did|saw|see|understand|commit|push|run\b|start|wait|do (?:it|that|this|anything)|touch (?:it|that|anything)|change anything)\w+ \w+|\b(?:at most|no more than|at least|max(?:imum)?) (?:\d+|one|two|three|four|five|ten)\b|^(?:keep|limit|cap|allow) (?:the last |it to |them to |it at )?\d|^(?:limit|cap|restrict|throttle) \w+ (?:to|at)\b|^(?:our|the) (?:target|goal|limit|minimum|maximum|default|format|licen[cs]e|budget|baseline|scope|cut-?off|threshold) (?:is|are|will be)\b|^target is\b|^drop (?:support|the \w+ support)|\byou convinced me\b|\bstays?\b(?! (?:open|up|tuned|broken|red|blank|empty))|\bkeep the last \w+|\b(?:single|only) source\b|\b(?:comes?|loaded|read|goes|lives?) (?:only )?(?:from|in|under) [^,]{2,40}, (?:never|not)\b|\bnever from\b|\bgo(?:ing)? with\b|\bstick(?:ing)? (?:with|to)\b"
)
CHOOSING = (
    r"\b(?:then|please|pls)$|\w it (?:is|must be|has to be|will be)(?: (?:then|again))?(?:$|[,.;])|^\(?[a-d1-4]\)?(?:$|[.,:) ])|^(?:option|plan|variant|number|version|the (?:first|second|third|former|latter|last|other|middle|simple|cheap)) ?\w*|^(?:use|take|make|put|store|keep|call|go|move|do|set|add|drop|remove|split|stay|stick|pick|choose|cap|limit|allow|refuse|reject|combine|switch|write|send|return|log|show|run|let|merge|hide|round|name|only|just|both|neither|none|without|with|third|one|two|separate|per|same)\b"
    r"|\b(?:then|so),? [\w` .-]{2,40}$|\binstead\b|\bnot\b|\bonly\b|\bno \w+|\bwithout\b|\bstays?\b|\bkeep\b|\bmax\b|\bat (?:most|least)\b|\bbecause\b|\bsince\b|\bso\b|\bas\b|\bis (?:fine|enough|ok|okay)\b"
)
RECONSIDERING = r"\b(?:you were right|kill the|thinking about it (?:again|more)|on (?:second|third) thoughts?|second thoughts|changed? my mind|scratch (?:that|the)|scrap|strike (?:that|the)|actually,? (?:no|let's|use|make|keep|go)|forget (?:what|that|about|the|it)|wait,? no|no wait|hold on|i take (?:that|it) back|walk (?:that|this|it)(?: one)? back|after all|reconsider\w*|rather (?:use|take|go)|back to|(?:is|are) dead|was (?:dumb|stupid|a mistake|too optimistic)|we invert)\b"
# What is said so takes the place of something.
REPLACING = r"\b(?:instead|no more|not any ?more|rather than|no longer|scrap|drop|replace)\b"
# Said so, it is a choice made anew even if the earlier one went by unseen.
THINKING_AGAIN = r"\b(?:thinking about it (?:again|more)|on (?:second|third) thoughts?|changed? my mind|i take (?:that|it) back|walk (?:that|this|it)(?: one)? back|forget what i said)\b"
# A person says outright that this is settled.
DECLARING = r"^(?:and )?(?:a|one|another) (?:\w+ )?(?:remark|rule|thing|note|convention)\b.*\b(?:all|every|always|never|any|everywhere)\b|\bfrom (?:now|here|today) on\b|\b(?:from|as of|starting) (?:today|now|tomorrow|monday|v\d[\d.]*)\b|\bfrom (?:v?\d[\w.]*|january|february|march|april|may|june|july|august|september|october|november|december|next \w+) on\b|\b(?:house|team|our|project|language|general|simple|golden) (?:rule|policy|convention|standard|guideline|principle)s?\b(?! (?:says|said|file|engine))|\b(?:is|are) (?:the )?(?:single |only )?(?:source of )?truth\b|\bthe \w+ rule then\b|\bnot \S+ (?:because|since)\b|^(?:rule|policy|convention)\b ?[:—–-]|\bgoing forward\b|\bhenceforth\b|\b(?:i|we)(?:'ve| have)? (?:now |finally |just )?decided\b|\bagreed (?:in|with|on|yesterday|last|today)|^(?:decision|decided|final decision|verdict)\b|\bcounts? as\b|\bthe (?:outcome|conclusion|verdict|agreement|decision|consensus|vote)(?: of [\w ]{1,20})? (?:is|was)\b|\bteam (?:voted|decided|agreed)\b|\bsettled on\b|\bsettle on\b|\bwe(?:'ll| will) (?:use|go with|keep|store|stay|stick|switch)\b|\bgo(?:ing)? with\b|\w\w it (?:is|must be|has to be)(?: (?:then|again))?(?:$|[,.;])"
# “Retention: 7 days hot, 90 in s3”: a topic and what holds for it.
TOPIC = r"^(?!\d)(?!.*\b(?:appears?|happens?|shows? up|twice|sometimes|all the time|numbers from)\b)(?!(?:todo|question|\w+ (?:thing|one|more|question|point)\b|note|edit|update|ps|p\.s|summary|hint|error|next|now|today|goal|status|logs?|output|idea|problem|issue|bug|result|warning|example|see|plan|task|steps?|and|url|link|ticket|context|background|reminder|tip|https?)\b)(?:for )?(?:the |our )?[\w`/.-]+(?: [\w`/.-]+){0,3}(?::| →| ->| =) (?!.*\bor\b)(?!(?:it|i|there|they|you|still|currently|today|looks?|seems?|was|were|is|are|does|did|how|what|why|where|when|which|can|could|should|would|that|this|see|check|look|read|fix|find|write|explain|show|investigate|after|when|while|if|since|again)\b)\S+ \S+"
# Says what oneself will have.
WILLING = r"\bi (?:want|promised|agreed|don't want|do not want|decided|insist|need|say|accept|refuse|never want|won't have|forbid|chose|prefer)\b|\bi'd say\b|\blet'?s\b|\bwe\b"
# Draws the conclusion; looked for before fillers are taken off.
CONCLUDING = r"^(?:so|therefore|in short|bottom line|conclusion|summary|final)(?::| no |,? we )"
# Tells what to do instead of what was done.
DIRECTING = r"^we (?:use|have|keep|put|go|do|don't|never|always|write|only)\b|^(?:just |please |simply |better |rather )*(?:use|take|make|put|call|name|keep|set|return|write|store|go|leave|move|log|sort|wait|compare|let|send|show|round|read|pass|treat|count|catch|raise|throw|import|start|stick|import|sleep|validate|escape|quote|convert|cast|wrap)\b"
# "The command is /kaffee, not /coffee"
EQUATING = r"^(?:the|it|its|our|that|this|these|those|they|his|her|my|\w+)\b[^,;]{0,60}\b(?:is|are|'s|'re|was|were|should be|must be|has to be|lives?|goes|go|runs?|comes?)\b.{1,80}\bnot (?:the |a |an |in |on |at |from |by |to )?\S+"
# Said while agreeing, it makes a rule of what was just said.
SETTLING = r"\b(?:only|never|always|rule|truth|no \w+|not \w+|instead|without|at most|at least|everywhere)\b"
STATING = r":$|\b(?:keeps?|is|are|was|were|has|have|had|does|do|did|can|could|will|would|seems|looks|works?|exists?|needs?|gets?|breaks?|fails?|shows?|got|it's|that's|there's|i|you|they)\b"
HESITATING = r"\bhmm+\W*$|\blet me think\b|\bnot sure\W*$|\.\.\.\W*$|\bno wait\b[^.]*\.\s*hm+"
TROUBLE = r"\b(?:fails|failing|failed|broken|breaks?|crash\w*|complain\w*|trouble|stuck|can't|cannot|stopped working|doesn't work|not working)\b|\b(?:an?|this|these|the|get|gets|getting|following) (?:errors?|exceptions?|bugs?|problems?)\b"
ALTERNATIVES = r"\bor\b|\bcandidates\b|\bcontenders\b|\bchoices\b|\beither\b|\boptions?\b|\b(?:two|three|several|other) (?:usual )?(?:ways|designs|approaches|choices|paths|variants)\b|\([ab]\)|\b[ab]\) |\bunless\b|\balternativ|\busual|\bvs\b"
FACT_ASKED = r"^(?:(?:and|so|but|then),? )?(?:(?:could|can|would|will) you (?:please )?(?:share|show|paste|send|tell|reproduce|post|attach|check|try|run|confirm)|(?:which|what) (?:\w+ ){1,2}(?:do|does|did|are|is) (?:you|it|they|your \w+) (?:\w+ )?(?:use|using|have|run|running|see|mean|get|on|say|show|look|work|expect)|how often|(?:is|are) (?:the|your|those|these) (?:\w+ ){1,3}(?:reachable|running|up|enabled|installed|open|set|available|there|online|mounted|active|deployed|committed|pushed|still|free|correct|right|new|old|empty|broken)|(?:which|what) \w+ (?:do|does|did|are|is) (?:you|it|the \w+|they) (?:use|using|have|run|running|see|mean|get|on|say|show)\b|what(?:'s| is| comes)? (?:next|now|there to do)|what (?:should|shall|can|may|could) i (?:do|help|look)|what (?:would you like|do you want me|do you need)|how can i|who|whom|why|what (?:hurts|happens|happened|does|did|do you (?:see|get|mean)|error|is the (?:error|output|message)|are you|exactly)|when did|when does|do you (?:have|know|see|get|remember)|does|did|is (?:it|there|this|that) (?!ok|okay|fine|all right|acceptable)|are there|have you|on which|where (?:is|are|does|did)|since when|how (?:often|big|large|long does|many \w+ (?:do|does|are|were|have))|was|were|has|anything else|what else|can you (?:share|show|paste|send|tell|reproduce))\b"
# Asks for leave to do one thing now, or how to go on: the answer ends with it.
STEP_ASKED = r"\b(?:shall|should|may|can|do you want|want me|would you like|like me|ready|ok|okay)\b[^?]*\b(?:push|commit|merge|open (?:a|the|an) (?:pr|pull request|issue|ticket)|pull request|restart|reboot|run|rerun|re-run|deploy|tag|release|publish|draft|write (?:it|them|this|that|up|an? (?:adr|summary|note|comment|mail|post))|show|print|explain|summari[sz]e|list|paste|continue|go on|go ahead|proceed|look (?:at|into)|check|cherry-pick|rebase|revert|undo|kill it|send|review comments?|post|file (?:a|an)|start (?:with|on|now)|migrate the)\b|^(?:and |so )?(?:tag|push|merge|commit|deploy|release|cherry-pick|rebase|restart|run|go on|continue|proceed|now (?:cherry-pick|merge|push|tag|deploy))\b"
# Puts a way to do it before the person.
PROPOSING = r"\bmy (?:proposal|suggestion|recommendation|plan)\b|\bproposal:|\bsuggestion:|\bi(?:'d| would) \w+|\bi (?:suggest|propose|recommend|advise|can|could)\b|\bshould it\b|^yes: |\boptions?\b|\bor\b"
# “Agreed, do it like that”
AGREED = r"^(?:(?:yes|ok|okay|yep|yeah|good|great|fine|sure|perfect)[,.! ]+)*(?:agreed\b(?!,? (?:but|except))|exactly (?:that|so|like|this)|(?:let's |we )?(?:do|take|use|make) (?:it|that|this)(?: exactly)? (?:like that|that way|as (?:you )?(?:proposed|suggested|described|said|say))|(?:just |exactly )?(?:like|as) (?:that|you (?:say|said|propose|suggest|describe)\w*))"
# “Do that, in the lint job”
DOING_SO = r"^(?:(?:makes sense|fair enough|convinced|please),? )?(?:do|take|use|make|let's do|we do) (?:that|this|it|so)\b,? (?:but |and |only |also |exactly )*(?:in|for|with|at|on|per|like|everywhere|by|via|under)\b"
OFFERING = r"\bi(?:'d| would)\b|\bcould\b|\bcan\b|\bwould\b|\bpropos|\bsuggest|\beither\b|\bor\b|\boptions?\b|\bways?\b|\balternative|\busual|\brecommend|\badvise|\bbetter\b|\bsimplest\b|\bworks? the same\b|\bmight\b|\bshould\b|\bvs\b|\bdepends\b"
SUGGESTING = r"\b(?:could|might|may want|maybe|optionally|(?<!i )would|if you (?:want|like))\b"
ANNOUNCING = r"\bi(?:'ll| will|'m going to| am going to) (?!wait|look|check|see|try|need|have|not)[a-z]{3,}|\bi(?:'ll| will|'ve| have|'m going to| am going to|'d| would|'m| am)? (?:also |then |just |now |therefore |simply |already |first )*(?!think|thought|guess|see|saw|suggest|recommend|propose|advise|wonder|believe|found|notice|know|read|checked|looked|ran|tried|wait|don't|do not|did not|didn't|can\b|could|would|will\b|have\b|need|haven't|am\b|not\b|left it|left alone|understand|agree|hope|see\b)[a-z]{3,}|\bi can (?:switch|use|set|make|move)\b|\bbecomes?\b|\bis now\b|\bnow [a-z]+s\b|\bnow\W*$|\bfor now\b|^(?:added|changed|set|renamed|moved|fixed|updated|switched|created|wrote|implemented|removed|replaced|bumped|converted|deleted|merged|deployed|pushed|disabled|enabled|dropped|used|put|made|formatted|sorted|cached|installed|upgraded|pinned)\s+\w+|\bdefaults? to\b"
CODE = r"`([^`]+)`|([\w./-]*[\w]+(?:[._/:=-][\w]+)+)"


def fits(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a sentence that was made plain."""
    return compiled(pattern).search(text) is not None


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compiled when first asked for: most sessions need few of them."""
    return re.compile(pattern)
