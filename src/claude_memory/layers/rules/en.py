"""English: how people correct, decide, rule, rank and name things when they talk to a coding agent.

Patterns run on one sentence in lower case, without leading fillers, with straight apostrophes and
quoted text cut out.
"""

# ruff: noqa: E501  A pattern broken in the middle is harder to read than a long line.

from __future__ import annotations

from claude_memory.layers.rules import rule

# Words and phrases people put before what they mean; taken off before a rule looks at the beginning.
FILLERS = frozenset(
    """ok okay k yes yeah yep yup fine sure alright right good great cool perfect thanks hmm hmmm hm uh um oh ah well so also
    and but then hey hi hello please pls plz agreed btw fyi note reminder remember sorry listen""".split()
)
FILLING = (
    "you know what", "after some thought", "thinking about it more", "thinking about it", "on reflection",
    "come to think of it", "long story short", "to be clear", "in short", "ok ok", "in the end", "for now,",
    "fine by me", "works for me", "sounds good", "makes sense", "good idea", "good point", "i agree", "my take",
    "all right", "by the way", "just so you know", "for the record", "on second thought", "in that case",
    "you convinced me", "re your question", "for context", "heads up", "one more thing",
)  # fmt: skip
# What says yes: an order after it settles a question.
ASSENT = frozenset("yes yeah yep yup agreed".split())
# A sentence that asks, supposes, or hands on what somebody else said.
ASKING = rule(
    "",
    "^how|^why|^wh|^do |^should|^has |^have |^is |^are |^am |^was |^were |^does |^did |^can |^could |^would |^will |^shall |^may |^might |^isn|^aren|^doesn|^don|^didn|^shouldn|^wouldn|^couldn|^can't|^any ",
    r"^(?:(?:how|why|which|who|whom|whose)\b(?!')"
    r"|what\b(?! (?:matters|counts|i (?:said|meant|want|need|wanted)|we (?:need|want|said|agreed)|blocks|comes first))"
    r"|(?:when|where) (?:is|are|do|does|did|will|should|can|was|were|would|one|exactly|in)\b"
    r"|do (?:we|you|i|they|these|those|all|both|any|our|the \w+ (?:need|have|use))\b"
    r"|should (?!have (?:been|said|used|read|gone|kept)\b|be\b|read\b|say\b)"
    r"|has (?!to\b)|have (?:you|we|they|i)\b"
    r"|(?:is|are|am|was|were|does|did|can|could|would|will|shall|may|might)\b(?!')"
    r"|(?:isn't|aren't|doesn't|don't you|don't we|didn't|shouldn't|wouldn't|couldn't|can't (?:you|we|i|it|this)) \w+.*\?"
    r"|(?:don't you|don't we|can't you)\b|any (?:idea|reason|chance|thoughts)\b)",
)
ASKED_AT_END = frozenset(
    """what how why which who when where is are do does did can could would will should so next any and or""".split()
)
SUPPOSING = rule(
    "",
    "suppos|imagine|assum|say we|let's say|lets say|pretend|hypoth|thought exp|if|theor|were we|had we|in a world|curious|argument|my talk|would |decided|not sure|wonder|maybe|perhaps|could",
    r"^(?:suppose|supposing|imagine|assume|assuming|say we|let's say|lets say|let's assume|let's imagine|let's pretend"
    r"|pretend|hypothetically|thought experiment|what if|if|in theory|theoretically|were we to|had we|in a world"
    r"|just curious|curious)\b|\bfor (?:the sake of argument|my talk)\b|\bwould (?:love|like|prefer|hate)\b"
    r"|\bnothing is decided\b|\bnot decided\b|\bhaven't decided\b|\bundecided\b|\bnot sure (?:if|whether)\b"
    r"|\bwould be (?:nice|cool|great|good|interesting)\b|\bsome day\b|\bi wonder\b|\bwondering\b|\b(?:maybe|perhaps) (?:we|i|you)\b|\bone could\b|\bwe could\b",
)
_OTHERS = (
    r"(?:docs?|documentation|readme|manual|book|article|blog(?: post)?|post|tutorial|paper|rfc|spec|standard|guide|linter"
    r"|compiler|error|message|output|log|tooltip|label|comment|ticket|issue|review(?:er)?|colleague|coworker|co-worker"
    r"|boss|manager|lead|professor|teacher|vendor|vendor's support|support|user|users|customer|customers|client|clients"
    r"|somebody|someone|people|everyone|team|designers?|marketing|sales|legal|release notes|changelog|stack ?overflow"
    r"|reddit|chatgpt|copilot|commit|pr|he|she|they|friend|maintainers?|author|notes|meeting notes|slack|email|mail)"
)
REPORTED = rule(
    "",
    "say|said|tell|told|writ|wrote|read|recommend|suggest|claim|ask|demand|argu|think|thought|want|insist|propos|advis|state|warn|mention|complain|prefer|believ|according|quot|titled|captioned|in the |from the ",
    rf"\b{_OTHERS}\b(?:[^,.;:]|\.(?=\w)){{0,40}}\b(?:says?|said|tells?|told|writes?|wrote|written|reads?|recommends?|recommended|suggests?"
    r"|suggested|claims?|claimed|asks?|asked|demands?|demanded|argues?|argued|thinks?|thought|wants?|wanted|insists?"
    r"|insisted|proposes?|proposed|advises?|advised|states?|stated|warns?|warned|mentions?|mentioned|complains?"
    r"|complained|prefers?|believes?|keeps? saying)\b"
    r"|^[a-z]+ (?:says|said|told me|wrote|thinks|asks|asked|claims|suggests|suggested|recommends|wants|insists|proposed)\b"
    r"|\bsays\b(?! (?:it|that) wrong)|\b(?:forum|internet|report|consultants?|google|requirement|requirements|wiki) say\b|\b(?!i|we|you)\w+ told (?:me|us)\b|\baccording to\b|\bquot(?:e|ing) from\b|\b(?:titled|entitled|captioned)\b|\bin the (?:review|meeting notes|thread)\b"
    r"|\bfrom the (?:\w+ ){0,2}(?:intro|spec|docs|readme|manual|paper|thesis|article)\b|\bas the saying goes\b",
)
OWN_VOICE = rule(
    "", "", r"^(?:i|we|you|they) (?:said|told|wrote|asked|wanted|thought)|\bi (?:said|told|asked|wanted)\b"
)
# A prompt that says the opposite of what it means.
SARCASM = rule(
    "",
    "oh great|kidding|joking|j/k|while we're at it|nobody needs|who needs|go wrong|🙃|🙄|/s|yeah right|because o|brilliant|needed|love it|wonderful|seriously|problem solved|haha|lol|exactly what we need|anyway:|ship my",
    r"\boh great\b|\bkidding\b|\bjust joking\b|\bj/k\b|\bwhile we're at it\b.*\b(?:rewrite|whole)\b"
    r"|\bnobody needs\b|\bwho needs\b|\bwhat could (?:possibly )?go wrong\b|🙃|🙄|\s/s\s*$|\byeah right\b"
    r"|\bbecause (?:obviously|of course)\b|\bbrilliant[,!]|\bjust what i needed\b|\blove it when\b|\bwonderful, (?:another|now)\b|\bno,? seriously\b|\bproblem solved\b|\bhaha\b|\blol\b|\bexactly what (?:we|i) need(?:ed)?\b|\bship my machine\b",
)
# Sentences that hand over a text to work on, or describe one.
ABOUT_A_TEXT = rule(
    "",
    "",
    r"^(?:translate|rephrase|reword|summari[sz]e|proofread|fix the grammar|make a haiku|explain|describe|compare|spell"
    r"|rewrite this|shorten|format|convert|write a docstring|add a docstring)\b"
    r"|\b(?:commit|commit message|message|entry|title|titled|subject|caption|headline|changelog|sentence|heading|mail|email|letter|reply|notice|tweet|typo|quote|saying)(?: is| like| reads| of the day)?:"
    r"|[,;] ?(?:show me (?:where|how|why)|where (?:is|does|do|are)|find out|tell me (?:why|where|how)|document (?:that|this)|investigate|is (?:it|that) tested)\b"
    r"|\bsomething like\b",
)

# A prompt that begins so describes something; what follows is no wish.
DESCRIBING = rule(
    "",
    "^back|^for back|^cont|^desc|^here|^from the|^the ",
    r"^(?:background|for background|context|description|here (?:is|are|'s) (?:the |a |some |my |our )?(?:description|text|spec|paragraph|excerpt"
    r"|draft|abstract|requirements?|story|notes?|transcript|readme)|from the [\w ]{2,30}:|the (?:text|spec|abstract|paragraph) (?:says|reads))\b",
)
# A one-off task: what it names is its object, not a value to keep.
TASK = rule(
    "",
    "",
    r"^(?:can you |could you |please |pls |now |then |go |just )*(?:rename|move|change|add|delete|remove|convert|update|bump|upgrade|fix|write|create|make|show"
    r"|open|look|check|find|explain|print|run|list|give|tell|compare|refactor|implement|generate|draw|plot|format|sort|replace"
    r"|copy|read|review|test|debug|profile|translate|grep|search|count|describe|document|split|extract|clean|summari[sz]e|see)\b(?!(?: [\w-]+){1,3} (?:is|are|will be|=)\b|(?: [\w-]+){1,3}:)",
)

# A one-off request to look, write or change something: what it says of order or choice is about its object.
INSPECTING = rule(
    "",
    "^",
    r"^(?:can you |could you |please |pls |now |then |go and |just |quickly )*(?:read|look|check|show|find|list|sort|rename|explain|open|print|count|document"
    r"|skip to|convert|compare|revert (?:commit|[0-9a-f]{7})|cherry-pick|squash|commit|mark|replace|download|summari[sz]e|tell me|give me|draw|plot|describe"
    r"|search|grep|translate|rephrase|proofread|review|profile|debug|investigate|inspect|write (?:a|an|the|me|some|unit|tests?)|create (?:a|an|the)|fix (?:the )?(?:typo|bug|grammar|spelling|indentation|formatting|warnings?)|add (?:a|an|the|some|missing|\w+:|\w+ to)"
    r"|put (?:a|the \w+ (?:in|above|below|into))|move the|wait for|wrap|remove (?:the|all)|delete (?:the|all)|generate|turn (?:this|it)|quote|spell|see if|see whether"
    r"|let me|bump|update (?:the|all)|change (?:the|all)|set up|test with|run (?:the|only|it|all|my|some|both)|upgrade|count|implement|refactor)\b",
)

# What stands even in a one-off request: a rule, or an order of things that is meant.
STRONG = rule(
    "",
    "",
    r"\b(?:from now on|going forward|everywhere|in (?:this|our) (?:repo|project|codebase)|before (?:you|we|anything|everything)|can wait|urgent|asap"
    r"|blocking|(?:top|highest|has|have|is the) priority|most important|p0|deadline|by (?:friday|monday|tomorrow|tonight)|first thing|the rest|everything else)\b",
    r"\bpriority (?:field|column|queue|enum|value)\b|\bblocking (?:call|io|queue|one|the (?:main|ui))",
)
# What happened is no value to keep.
NOT_A_VALUE = rule(
    "",
    "",
    r"\b(?:returns?|returned|response|40\d|50[0-4]|error|fails?|failed|failing|crash\w*|broken|timed out|line \d+|prints?|printed|got|expected)\b",
)
# Words of somebody who speaks for themselves: three sentences without any describe something.
PERSONAL = frozenset(
    "i we you our my us me your i'm i'd i've i'll we're we'll we've let's lets please pls don't dont here".split()
)

_VERBS = (
    r"(?:use|using|add|adding|introduce|import|put|store|create|hardcode|hard-code|depend|rely|call|log|write|mix|touch|pull in"
    r"|bring in|commit|push|merge|expose|leak|catch|swallow|mock|throw|return|pass|read|access|share|edit|modify|mutate|cache"
    r"|install|ship|allow|rename|delete|remove|run|deploy|change|build|make|let|block|open|copy|parse|raise|print|inline|nest"
    r"|duplicate|reach|bypass|disable|block|keep|write|send|do)"
)
_SCOPE = (
    r"(?:in|for|across|throughout|inside|within) (?:this|the|our|any|all|every) (?:whole |entire |new )?(?:codebase|code base|repo"
    r"(?:sitory)?|project|service|app(?:lication)?|product|module|package|library|frontend|backend|engine|simulation|system"
    r"|monorepo|api|code|client|server|core|domain|team|modules|services|packages|endpoints|tests|handlers|components"
    r"|migrations|environment|environments|pipeline|build)\b"
)
_STANDING = (
    r"(?:from now on|going forward|from here on|always|never|ever|everywhere|as everywhere|at all times|by default|without exception"
    r"|no exceptions|across the board|as a rule|rule of thumb|in general|henceforth|from today|is banned|are banned|banned"
    r"|forbidden|not allowed|off limits|off-limits|at all)\b"
)

# A concrete name, id, address, number or setting.
_CONCRETE = (
    r"(?:`[^`]+`|\w+://\S+|@[\w-]+/[\w.-]+|[\w.+-]+@[\w-]+\.[\w.]+|~?/?[\w.-]+(?:/[\w.{}*-]+)+/?|[a-z]+_[\w]+|\w*\d[\w.:/+-]*"
    r"|[a-z]+(?:-[a-z]+)*-?\d[\w-]*|[a-z0-9]+(?:-[a-z0-9]+){2,}|[a-z0-9]+(?:\.[a-z0-9-]+)+|#[\w-]{2,}|/[\w/.-]{2,})"
)
_NAMED = (
    r"(?:branch(?:es)?|port|url|uri|link|host(?:name)?|bucket|id|key|tenant|project(?: number)?|database|db|user(?:name)?|account"
    r"|instance|flag|version|path|file|folder|directory|prefix|suffix|endpoint|topic|queue|table|schema|namespace|cluster|region"
    r"|zone|timezone|time zone|timeout|time-out|limit|quota|server|registry|image|tag|repo(?:sitory)?|channel|ticket|env(?:ironment)?"
    r"|variable|env var|name|checkpoint|pin|gpio|address|ip|domain|email|model|dataset|package|module|service|container|pod|node"
    r"|job|index|collection|stream|subscription|device|serial|profile|role|group|org(?:anisation|anization)?|workspace|team|app"
    r"|application|client|secret name|webhook|api|base|release|build|commit|sha|hash|revision|seed|batch size|threshold|ratio|rate"
    r"|retention|ttl|interval|period|size|width|height|depth|locale|currency|encoding|charset|license|licence|milestone|epic|sprint"
    r"|customer|contract|order|invoice|machine|box|vm|runner|kernel|driver|firmware|baud rate|frequency|voltage|i2c|spi|uart|bus"
    r"|offset|register|canary|staging|prod(?:uction)?|sandbox|gateway|proxy|mirror|remote|origin|upstream|fixture|sample|scene|asset"
    r"|shader|font|colou?r|theme|label|header|cookie|scope|claim|issuer|audience|realm|partition|shard|replica|primary|secondary|cron"
    r"|schedule|deadline|budget|setting|option|parameter|param|value|constant|password name|socket|pipe|mount|volume|disk|device)s?"
)

RULES = (
    # --- corrections
    rule(
        "correction",
        "meant|mean ",
        r"\bi (?:really |actually )?meant?\b(?! (?:it|that|well|to say)\b)|\bby that i mean",
        r"\b(?:exactly|precisely|just) what i meant\b|\bthat's what i meant\b",
    ),
    rule(
        "correction",
        "i was |i asked|i said|i wanted|i never|i told|i didn't|i did not|i specifically",
        r"\bi was (?:talking about|asking (?:for|about)|referring to|thinking of|after)\b|\bi (?:asked|wanted|specifically asked)\b.{3,}"
        r"|\bi said\b.{3,}\b(?:not|you|instead|but)\b|\bi never (?:said|asked|wanted|meant)\b|\bi (?:didn't|did not) (?:say|ask|mean|want)\b"
        r"|\bi told you\b|^i said \w+",
    ),
    rule(
        "correction",
        "what i |as i ",
        r"\bnot what i (?:asked|meant|wanted|said|had in mind)\b|\bwhat i said\b.*\b(?:wrong|not true|incorrect|mistaken|outdated)\b",
    ),
    rule(
        "correction",
        "misread|misunder|mixed up|mix up|confus|got it wrong|got that wrong|wrong|swapped|backwards|the other way|inverted|reversed|upside down",
        r"\byou(?:'ve| have)? (?:misread|misunderstood|mixed up|confused|swapped|inverted|reversed|misinterpreted)\b|\byou misunderst"
        r"|\b(?:got|have|had|did|done|read|put|took|understood) (?:\S+ ){1,4}(?:wrong|backwards|upside down|reversed|swapped|inverted|mixed up|the wrong way)\b|\bthe other way (?:a?round)\b"
        r"|\bthat(?:'s| is| was)? (?:the |simply |just |completely |all )*wrong\b|^(?:that's |it's |this is )?wrong \w+|\bthe wrong \w+"
        r"|\b(?:is|are|was|were|looks) (?:wrong|backwards|inverted|swapped|reversed)\b|\bwrong (?:direction|one|way|file|place|branch)\b",
        r"^(?:something|what|why|whatever|find|check|see|tell|look|anything|nothing|if)\b|\b(?:find out|see why|see where|figure out)\b|\bwhat(?:'s| is| went)? wrong\b|\bgoes wrong\b|\bwent wrong\b|\bnothing wrong\b",
    ),
    rule(
        "correction",
        "should have|should be|should've|ought to|supposed to|has to be|needs to be",
        r"\bshould(?:'ve| have) (?:been|said|used|gone|kept|read|had)\b|\b(?:should be|ought to be|(?:is|are|was|were) supposed to be|has to be|needs to be)\b.*\b(?:not|instead|rather than|never)\b",
    ),
    rule(
        "correction",
        "not |instead|rather",
        r"^(?:use|take|call|name|make|put|write|show|sort|read|send|return|set|say|do|run|it's|its|that's|it is|they're|these are|compare|count|pass)\b[^.]*?,? (?:and )?(?:not|instead of|rather than) (?!all\b|yet\b|only\b|sure\b|to\b|have\b|be\b|needed\b|necessary\b|a problem)[\w`'\"]+",
        r"\b(?:everywhere|always|never|ever|from now on|in this (?:repo|project|codebase))\b",
    ),
    rule(
        "correction",
        "^not ",
        r"^not (?:the |a |an |in |on |from |by |to |that |this |those |my |our |`)[^,;]{2,60}[,;—–-]+ ?(?:but |it's |i |use |rather |only |just )?(?:the |a |an |in |on |from |by |to |that |this |my |our |`|\w)",
    ),
    rule(
        "correction",
        ", not",
        r"^(?:the|it|that|this|they|those|he|she|its|our|we) [^,]{3,80}, not (?:the |a |an |in |on |from |by |to |my |our )?[\w`]+",
        r"\b(?:everywhere|always|never|ever|from now on|in this (?:repo|project|codebase))\b",
    ),
    rule(
        "correction",
        "it's not|it isn't|that's not|this isn't|isn't |aren't|is not|are not|wasn't|that isn't|not right|incorrect|not correct|not true|not quite|no longer",
        r"^(?:it|that|this|they|there)(?:'s| is|'re| are)? ?(?:not|isn't|aren't|wasn't) [^,;]{2,60}[,;—–-] ?(?:it|that|this|they|you|the|but|there|he|she|we)"
        r"|\b(?:that|this|it)(?:'s| is| was)? ?(?:not|isn't|wasn't) (?:right|correct|true|quite|what|how|the (?:right|one|same))|\b(?:is|was|are)? ?incorrect\b|\bnot (?:quite|exactly) right\b|^not (?:quite|exactly)\b"
        r"|^that is not\b",
        r"^if\b|\bwhether\b",
    ),
    rule(
        "correction",
        "actually",
        r"^(?:no,? )?actually,? (?:no\b|it(?:'s| is| was)|that(?:'s| is| was)|this (?:is|was)|the |we (?:are|do|have|need|use|don't|should|want|already)|what i|they (?:are|do|have)|there (?:is|are|was)|you (?:should|can|need|don't|were)|i (?:was|need|want|meant|think (?:it|we|that))|make|use|keep|don't|leave|scrap|revert|its|our|let's not|only|just)",
        r"\b(?:like|love|great|nice|impressed|interesting|fine|works?|good|pretty|cool|quite|helpful|useful|thanks?|right)\b",
    ),
    rule(
        "correction",
        "actually",
        r"\b(?:it|that|this|the [\w ]{2,30})(?:'s| is| was| should be| means) actually\b.*",
        r"\b(?:fine|good|great|nice|interesting|works?|why|what|pretty|quite)\b",
    ),
    rule(
        "correction",
        "^no|^nah|^wait|^hold on|^stop|^hang on",
        r"^(?:(?:wait|hold on|stop|hang on)[,.! —–-]*)?(?:no|nope|nah|no no|nono|nono no)[,.!:;—–-]+ ?(?!(?:no )?(?:problem|worries|idea|need|rush|thanks|wait)\b)(?:\S+ ){2,}"
        r"|^(?:no no|wait no|wait,? that|hold on,? (?:that|the|it)|stop,? (?:that|the|it|you))\b",
        r"^(?:(?:wait|hold on)[, ]*)?(?:no|nope|nah)[,.!:; ]+(?:no )?(?:don't bother|let's|lets|leave|keep|skip|need|thanks|we'll|go with|forget|just|drop|stick|do it|please|thank|problem|worries|that's (?:fine|ok|good))",
    ),
    rule(
        "correction",
        "you ",
        r"^(?:but |instead of [^,]{2,60}[, ]+|again,? )?you(?:'ve| have)? (?:forgot|forgotten|missed|dropped|used|removed|deleted|changed|put|left|renamed|computed|calculated|gave|made|took|taken|initiali[sz]ed|added|broke|broken|skipped|ignored|assumed|picked|chose|wrote|returned|sorted|counted|moved|kept|replaced|implemented|started|overwrote|hardcoded|translated|turned|set)\b",
        r"\b(?:thanks|great|good|nice|well done|perfect)\b|^you(?:'ve| have)? (?:made|added|gave|kept|used|wrote) (?:a )?(?:good|great|nice)|\bexplain\b",
    ),
    rule(
        "correction",
        "you've taken|you took|you read|taken it as",
        r"\byou(?:'ve| have)? (?:taken|took|read|understood|treated|interpreted) [^,.]{1,40}\b(?:as|for|to mean)\b",
    ),
    rule(
        "correction",
        "instead of",
        r"\binstead of [^,.]{2,60},? (?:you|it|the code|this|that) \w+|\byou \w+ [^,.]{2,60} instead of\b",
    ),
    rule(
        "correction",
        "correction|scratch that|take that back|my bad|my mistake|i was wrong|strike that|misspoke|disregard|ignore what|typo|mistaken|i mixed|i confused|oops|i misread",
        r"^correction\b|\bscratch that\b|\bi take (?:that|it) back\b|\bmy (?:bad|mistake|error)\b|\bi(?:'ve| was| am|'m)? (?:been )?(?:wrong|mistaken)\b|\bstrike that\b|\bi misspoke\b|\b(?:disregard|ignore) (?:what|my|the last|that)\b|\bi made a (?:typo|mistake)\b|\bi (?:mixed|confused|misread)\b|^oops\b",
    ),
    rule(
        "correction", "^almost|^close|^nearly", r"^(?:almost|close|nearly|nearly there|close,? but)[,.!—–-]"
    ),
    rule(
        "correction",
        "means|stands for|refers to",
        r"^(?:by )?\W*[\w \"“”]{2,40}\b(?:means|stands for|refers to)\b[^,]{2,80}, (?:not|you)\b",
    ),
    rule(
        "correction",
        "revert|undo|go back|put back|bring back",
        r"^(?:revert|undo) (?:that|this|it|your)\b|^(?:put|bring) (?:it|that|the [\w ]{2,30}) back\b.*\bi\b",
    ),
    rule(
        "correction",
        "still |again",
        r"^(?:it|that|this|you)(?:'s|'re| is| are)? still (?!running|working|in progress|open)\w+ing? .*\b(?:not|instead|should)\b",
    ),
    # --- decisions
    rule(
        "decision",
        "let's|lets |let us",
        r"\b(?:let's|lets|let us) (?!see\b|look|talk|think|check|discuss|find out|figure|hope|wait|say\b|assume|pretend|imagine|understand|review|debug|recap|test (?:it|this)\b|continue|start (?:over|again)|begin|get started|go through|have a look|take a look|run\b|explore|investigate|dig)(?:\w+)",
    ),
    rule(
        "decision",
        "go with|going with|go for|going for|went with|stick with|sticking with|stick to|settle on|settled on|opt for|opting for|side with",
        r"\b(?:go|going|went|gone|stick|sticking|settle|settled|settling|opt|opted|opting) (?:with|for|on|to)\b",
        r"^(?:how|why)\b|\bgo for (?:a walk|lunch|coffee)\b",
    ),
    rule(
        "decision",
        "we pick|i pick|choose|chose|chosen|pick ",
        r"\b(?:we|i|they|the (?:client|customer|team|board)|i'll|we'll|i've|we've|i'd|we have|i have)(?:'ll|'ve| have)? (?:pick|picked|choose|chose|chosen|went)\b|^(?:pick|choose|take) (?:the|option|plan|variant|number|version)",
    ),
    rule(
        "decision",
        "decided|decision|settled|final answer|verdict|made up my mind|convinced me|sold,|deal,|approved|it's a go|green light|signed off",
        r"\b(?:i|we|i've|we've|i have|we have|just|have|been|it's|that's|is) (?:now |finally |all )?(?:decided|settled)\b|^(?:final )?(?:decision|verdict|decided)\b|\bfinal (?:answer|decision|call)\b|\bmade up (?:my|our) mind|\bconvinced me\b|\bapproved\b|\bsigned off\b",
        r"\bnot (?:yet )?decided|\bundecided|\bnothing|\bhaven't|\bhasn't|\bhave not|\bwho decided",
    ),
    rule(
        "decision",
        "skip|scrap|ditch|forget|drop|leave|never mind|nevermind|kill |cut |park |shelve|postpone|defer|abandon|ignore|omit|lose the",
        r"^(?:just |then |let's |we can |we'll |i'd say |no[,]? |nah[,]? |nope[,]? |yes[,]? |we |you can )*(?:skip|scrap|ditch|forget(?: about)?|leave|never ?mind (?:the|about|that)|kill|park|shelve|postpone|defer|abandon|omit|drop|cut|ignore|lose)\b(?! (?:to\b|ahead\b|through\b|a comment|the (?:wording|typo|noise|formatting|warnings?)|everything|me\b|a comment|a note|us\b))"
        r"|\bcan be (?:dropped|skipped|scrapped|removed|left out)\b",
        r"^(?:drop|cut|kill) (?:the )?(?:database|table|index|column|process|connection|down)\b",
    ),
    rule(
        "decision",
        "don't bother|do not bother|no need|not worth|isn't worth|overkill|not needed|won't|will not|don't need|not doing|not going to|not shipping|won't do|not now|good enough|is enough|won't be",
        r"\b(?:don't|do not|dont) (?:even )?bother\b|\bno need (?:for|to)\b|\b(?:not|isn't|aren't) worth\b|\b(?:is|are|be|seems) overkill\b|\bwe(?:'re| are) not (?:doing|going|shipping|building|adding|supporting|migrating|touching|changing)\b|\bwe (?:won't|will not)\b|\bwe (?:don't|do not|dont) need\b|\bgood enough\b",
        r"\bever\b|\balways\b|\bin this (?:repo|project|codebase)\b",
    ),
    rule(
        "decision",
        "we'll|we will|i'll|i will|we're going|we are going|we go|we do |we take|we build|we ship|we keep|we drop|we merge|we split|we start|we switch|we move|we call|we make|we use ",
        r"\b(?:we|i)(?:'ll| will) (?:go|use|do|take|keep|stay|ship|build|drop|have|need only|just|not|stick|switch|move|live|start|call|make|write|store|generate|accept|handle|pay|support|postpone|wait)\b|\bwe(?:'re| are) (?:going|doing|using|keeping|taking|shipping|dropping|staying|moving|switching|building)\b|(?:^|\bso |, )we (?:do|take|build|ship|drop|merge|split|switch|move|call it|make|start|go)\b",
        r"\b(?:i'll|i will) (?:look|check|see|think|try|be|get back|let you|send|ask|test|paste|do that|review|read|come|go)\b|\bwhere we\b|\bhow we\b|\bwhat we\b|\bif we\b|\bwhen we\b|\bbefore we\b|\buntil we\b|\bonce we\b",
    ),
    rule(
        "decision",
        "for now|for this one|for this pr|for this release|this time|for the time being|for v1|for the first version|for the mvp|for the prototype|in this release|this round|for this",
        r"^(?!.*\?)(?:keep|use|leave|make|do|just|only|no|without|hardcode|hard-code|stay|one|a|an|the|we|i|that's|it's|don't|dont|do not|not|mock|stub|put|return|ship|only)\b.*\b(?:for now|for the time being|this time|for v1|for the (?:first version|mvp|prototype|demo|pilot)|for this (?:one|pr|release|sprint|feature|ticket|page|screen|round|task)?|in this (?:release|pr|round))\b",
    ),
    rule(
        "decision",
        "ship it|do it |merge it",
        r"^(?:just )?(?:ship it|do it (?:the|with|in|as|like|by|without|via|your way|my way)|merge it as)\b|\bship it (?:straight|as|now|without)\b",
    ),
    rule(
        "decision",
        "option|plan |variant|approach|alternative|version|proposal|solution|idea|second one|first one|former|latter|yours|your way",
        r"^(?:i (?:like|prefer|want|take|vote for|choose|pick)|take|use|do|make it|we take|go|implement|your|the|it's|then)? ?(?:the )?(?:option|plan|variant|alternative|approach|proposal|number) (?:[a-d]|\d|one|two|three)\b|\b(?:the )?(?:first|second|third|last|former|latter) (?:one|option|variant|approach|alternative|proposal|version)(?: it is|, please| please| then| works)?$|(?:^|\b(?:i|we|i'd|i'll|we'll|let's) [^,?]{0,25})(?:option|plan|variant|approach|solution) (?:[a-d]|\d|one|two|three)\b(?! (?:or|vs))",
    ),
    rule(
        "decision", " it is", r"^[\w`'. -]{2,40} it is(?: then| for now)?$", r"^(?:what|how|where|as|so|that)"
    ),
    rule(
        "decision",
        "^keep|^stay|^leave",
        r"^(?:keep|stay (?:on|with)|leave) (?:it |the |that |this |both |our |using |to |my |as |on |with |one |only )",
        r"\b(?:me posted|in mind|going|track|an eye)\b",
    ),
    rule(
        "decision",
        "^only |^just ",
        r"^(?:just|only) (?:use|do|make|return|support|keep|one|log|render|handle|hide|reject|fail|ship|cover|customer|store|write|put|have|take|hardcode)\b",
    ),
    rule(
        "decision",
        "i want|i'd rather|i would rather|i prefer|prefer |we want|rather",
        r"\bi(?:'d| would) rather\b(?! know)|\bi prefer\b|^(?:i|we) want (?:it|this|that|the \w+) to (?:be|stay|use|look|fail|work)\b",
    ),
    rule(
        "decision",
        "^no ",
        r"^no (?!idea|problem|worries|need|rush|thanks|one|doubt|matter|way\b|longer|more than|such|further|hurry|reason|clue|wonder|luck|error|output|changes?\b)[\w -]{2,50}(?:,| —| –| -|\bfor (?:this|now|v1)\b|\bhere\b|\bthis time\b)",
        r"\bever\b|\balways\b|\bin (?:this|the|our|any) (?:repo|project|codebase|service|domain|core|app|tests|handlers|migrations)|\bat (?:build|run) ?time\b|\banywhere\b",
    ),
    rule(
        "decision",
        "instead",
        r"^(?!you\b)(?:then |so |we |i )?(?:use|do|make|render|build|write|put|store|take|show|run|send|generate|return)\b[^?]*\binstead$",
    ),
    # --- architecture
    rule(
        "architecture",
        "we should|we must|we have to|we ought|we want|we no longer|we always|we never|we only|we don't|we do not|we dont|we use|we standard|we avoid|we write|we keep|we stick|we target|we support",
        r"\bwe (?:should|must|have to|ought to) (?:never|always|only|not|all|use|have|keep|avoid|prefer|store|write|make|log|put|go|treat|validate|stick|do|rely|build|separate|isolate|version|support|target|follow|move|run|hide|wrap|pin|generate|return)\b"
        r"|\bwe (?:always|never|only|standardi[sz]e on|avoid|stick to|target)\b|\bwe (?:don't|do not|dont|never|no longer) (?:want|use|allow|do|have|put|write|accept|support|mock|commit|add|import|ship|log|catch|throw|touch|share|keep|store|expose|need)\b"
        r"|\bwe want (?!to (?:see|know|check|look|ship|release|understand|find)|the (?:demo|report)|it\b|this\b)[\w-]+|\bwe use \w+ (?:for|everywhere|as|in|throughout)\b",
        r"\b(?:know|see|yet|today|tomorrow|tonight|this (?:week|sprint|time|pr)|any ?more time)\b|\bbefore\b|\buntil\b|\bfirst\b|\bneed (?:this|that|it)\b|\bfor (?:this|now)\b",
    ),
    rule(
        "architecture",
        "don't|do not|dont|never|must not|mustn't|avoid|shouldn't|should not",
        rf"(?:^|[,;:—–] ?|\bplease |\band |\bbut |\bso |\bwe |\byou |\bjust )(?:don't|do not|dont|never|must not|mustn't|should never|shouldn't|should not)(?: you| we)?(?: ever| just)? {_VERBS}\b|^avoid \w+"
        rf"|\b(?:must|should|may|can|shall|will) (?:never|not)\b|\bnever {_VERBS}\b|\bnever (?:touch|see|know|import|leave|leaves|reach|call|talk|talks|calls|imports|depend|depends|go|goes|contain|contains)\b",
        r"\b(?:for now|this time|yet|today|tomorrow|right now|in this pr|for this|until|before|bother|worry|forget|anything|a thing|any files|until i|never mind|i (?:always|never|hardly)|never thought|never seen|never heard|never worked|never said|never more than|there's never)\b",
    ),
    rule(
        "architecture",
        "i don't want|i do not want|i dont want|we don't want|nobody|no one",
        r"\b(?:i|we) (?:don't|do not|dont|never) want (?:any |to (?:see|have) )?(?!it\b|that\b|this\b|to (?:talk|wait|lose|break|know|go|spend))[\w`-]+",
        r"\b(?:for now|this time|yet|today|right now)\b",
    ),
    rule(
        "architecture",
        "^no |, ever|, always|, period|, anywhere",
        rf"^no (?!idea|problem|worries|need|rush|thanks|doubt|matter|way\b|longer|hurry)[\w` -]{{2,60}}\b(?:{_SCOPE}|anywhere|ever\b|at (?:build|run|compile|import) ?time|outside|allowed|please, ever)|^no (?:new |more |extra |third[- ]party |external |additional |other |hidden |magic |raw |direct |global |shared |mutable |circular |inline )[\w` -]+|\bno [\w -]{{2,40}}(?:, ever|, always|, period|\. period|, anywhere)\b",
    ),
    rule(
        "architecture",
        ", no |, only |, never |, not |, always |, nothing ",
        r"^(?:keep|make|write|money|everything|all|every|each|dates?|times?|ids?|the|as|handlers?|api|errors?|logs?|tests?|config|state|modules?|services?)\b[^?]*(?:, (?:no|never|not|only|always|nothing)\b [\w `-]+)",
        r"\bfor (?:now|this)\b|\bthis time\b|, no(?:t)? (?:the|a|in|on)\b",
    ),
    rule(
        "architecture",
        "from now on|going forward|always|never|ever|everywhere|by default|exception|across the board|as a rule|in general|henceforth|banned|forbidden|not allowed|off limits|at all|whenever",
        rf"^(?!i\b|you\b|what|why|how|there's never|actually|it (?:always|never)|that|this (?:always|never)|never mind).*\b{_STANDING}",
        r"\b(?:is|are|was|has|it|this|that|build|test|server|tests|which|page|app)(?:'s)? (?:always|never)\b|\b(?:always|never) (?:\w+s|failed|failing|forget|remember|get|gets|saw|seen|worked|thought|heard|been|said|happens|happened|mind|wondered)\b|\bhardly ever\b|\bas ever\b|\bbetter than ever\b|\bhave (?:you|we) ever\b|\bif ever\b|\bwhatever\b|\bnot at all\b|\bno idea at all\b|\bmore than\b",
    ),
    rule(
        "architecture",
        "always|never|must",
        r"^(?:always|never|only ever) (?!mind|thought|seen|heard|knew|been|worked|forget)\w+|\b\w+ (?:must|shall) (?:always |only |never |not |all )?(?:be|have|go|use|come|pass|return|live|stay|not|never|start|end|carry|accept|fail|run|work|include|support|inherit|implement|depend|validate|log|come)\b",
        r"\b(?:before|until|first|today|tomorrow|by (?:monday|tuesday|wednesday|thursday|friday)|be (?:green|merged|done|fixed|finished|closed|ready|a (?:bug|mistake|typo))|it must|there must|you must be|finish within|must have been|this week|because|must be (?:something|somewhere|wrong|the|because|green|done|correct|slow|a|some))\b",
    ),
    rule(
        "architecture",
        "all |every|each|any |everything|anything|nothing",
        r"^(?:(?:new|our|the|and|in \w+) )?(?:all|every|each|any)\b[\w` -]{2,60}?\b(?:go(?:es)?|go through|must|needs?|need to|gets?|get|should|has to|have to|are|is|lives?|uses?|use|belongs?|belong|comes?|come|have|has|stays?|stay|returns?|return|carry|carries|follow|follows|take|takes|inherit|inherits|live|start|starts|end|ends|ships?)\b|\b\w+ all (?:get|go|use|have|live|need|must|are|return|come)\b"
        r"|\b(?:everything|anything|nothing) (?:hangs|lives|goes|that|is|in|may|must|should|else|outside|under|below|above|gets|has|uses|stays|talks|touches|imports|depends|belongs|crosses|may)\b",
        r"\b(?:looks?|else in|(?:is|are) (?:fine|ok|okay|good|green|done|working|great|there)|ships? until|today|this week|before|until|first|all (?:the )?tests? (?:pass|fail)|is (?:fine|ok|good|green|red|broken|working)|are (?:fine|ok|green|red|failing|passing|broken|down)|looks? (?:right|good|fine)|all (?:right|good|set|done)|everything else in)\b|^(?:all|every|each|any)(?: of)? (?:it|that|this|them|these|those|the (?:tests|above))\b",
    ),
    rule(
        "architecture",
        "goes through|go through|lives in|live in|belongs in|belong in|belongs to|hangs off|source of truth|single source|lives under|go under|only place|one place|passed in|goes into|go into|come from|comes from|is responsible|talks? to",
        r"\b(?:go(?:es)?|must go|has to go) (?:only )?(?:through|via|into|in|under)\b|\b(?:lives?|belongs?) (?:only )?(?:in|under|to|outside|next to|behind)\b|\bhangs? off\b|\b(?:single )?source of truth\b|\bis the only (?:place|module|way|one)\b|\bare passed in\b|\bgo behind\b",
        r"^(?:go|i|you|he|she|please go|can)\b|\bgo (?:through|into) (?:the|it|this|my|all|each|every) (?:code|file|list|diff|log|logs|files|changes|details)|\b(?:where|why|what|how|whether)\b",
    ),
    rule(
        "architecture",
        "standard|convention|policy|rule:|our rule|rule is|architecture|principle|hexagonal|layer|monolith|microservice|event-driven|guideline|invariant",
        r"\b(?:our|the|house|team|project|general|simple|one) (?:standard|convention|policy|rule|guideline|principle|invariant)s? (?:is|are|here|:|for)|^(?:standard|convention|policy|rule|guideline|principle|invariant|architecture)s?\b ?[:—–-]|\bstandardi[sz]e\b|\b(?:standard|convention|policy|rule) (?:here|in this|for (?:all|every|new))\b"
        r"|\b(?:we want|make it|keep it|stay with|it's|as) (?:a )?(?:hexagonal|monolith|modular|event[- ]driven|layered|stateless|microservice)",
        r"\bexplain\b",
    ),
    rule(
        "architecture",
        "this codebase|this repo|this project|this service|our codebase|our repo|our project|the codebase|the whole project|in this app|in our|in the domain",
        rf"^(?!i\b|you\b|set\b|find|list|show|search|check|count|give|tell|where|there (?:is|are)).*\b(?:{_SCOPE})(?:$|[,.;:—–-]|\s+(?:at all|only|ever))",
        r"\b(?:look|find|search|grep|check|list|show|count|run|fix|rename|delete|bump|update|sort|move|translate|format)\b",
    ),
    rule(
        "architecture",
        "dependency|dependencies|dependenc",
        r"\bno (?:new |more |extra |third[- ]party |external |runtime )?dependenc(?:y|ies)\b|\bzero dependenc|\bdependencies (?:are|must|go|point|only)\b",
    ),
    rule(
        "architecture",
        "stays|stay |remains|remain ",
        r"^(?:the|our|all|core|domain|public|every) [\w` -]{2,40} (?:stays?|remains?) (?!open|the same bug|broken|red|down)[\w-]+",
    ),
    rule(
        "architecture",
        "prefer|favour|favor",
        r"^(?:prefer|favou?r) [\w` -]+ (?:over|to|for|in|where)\b|^(?:we|i) (?:prefer|favou?r) [\w` -]+ (?:over|to)\b",
    ),
    rule(
        "architecture",
        "keep the",
        r"^keep (?:the |all |every )?[\w -]{2,40} (?:hand ?written|stateless|pure|thin|dumb|separate|small|simple|flat|free of|out of|independent|framework[- ]free|synchronous|immutable|internal|private)",
    ),
    # --- priorities
    rule(
        "priority",
        "block",
        r"\b(?:is|are|it's|that's|this's|was|and|still|currently|really|now)?(?: a| the| our| my)? ?(?:blocking|blocker|blockers|show ?stopper)\b|\bblocks (?:the|us|me|our|everyone|everything|all|a|qa|release|two|three|half|\w+ing)\b|\b(?:i'm|we're|we are|i am|team is|everyone is|qa is|\w+ is|\w+ are) (?:all |completely |fully |still )?blocked\b",
        r"\bif\b|\b(?:non-?blocking|blocking (?:call|io|i/o|queue|read|mode|one)|not (?:a )?block|isn't block|blocking ones|main thread|event loop|blocked by (?:the )?(?:proxy|cors|firewall|a lock)|lock|mutex|code block|blocks of|io)\b",
    ),
    rule(
        "priority",
        "before|ahead of|prior to|until|unless|only after|not start|then ",
        r"\b(?:comes?|go(?:es)?|come|done|fixed|finished|closed|ready|merged|solved|finish|fix|do|get|land|ship|needs?|have|has|must|green|in|out|deal with|handle|sort out|get to|wrap up|complete|solve|first|up|work|live|release|deploy|clear)\b[^.;]{0,80}\b(?:before|ahead of|prior to) (?!the (?:flour|loop|call|return|test runs?|commit message)|deploy\.sh|each|calling|returning|saving|parsing|rendering|sending)(?:\w+)"
        r"|\b(?:can't|cannot|can not|cant|don't|do not|dont|won't|nothing|no one|nobody|not|never|wait with|hold off|hold|no)\b[^.;]{0,80}\b(?:until|before|unless|till)\b|\bonly (?:after|once|when) [\w ]{3,60}(?:done|merged|fixed|in|green|finished|closed|over|out|ready|through|signed|landed)"
        r"|\bahead of (?:the queue|everything|schedule|all|anything|the|any)\b",
        r"\b(?:as before|like before|before and after|the day before|before that (?:it|i)|never (?:seen|heard|had|happened)|i've never|work before|worked before|seen|was working before|must run|must be (?:run|called|loaded|imported|set|initiali[sz]ed|registered)|has to run|you must call|is called|gets called|runs before|called before|before the (?:first|last|next|second) (?:call|line|one|argument|parameter|in the)|argument|parameter)\b",
    ),
    rule(
        "priority",
        "priorit|precedence|p0|p1|p2|urgent|asap|critical|right away|immediately|emergency|time-sensitive|number one|top of",
        r"\b(?:top|highest|high|first|main|number one|low|lowest|next|only|biggest|real|my|our) priority\b|\b(?:is|are|has|have|takes?|gets?|the|a) (?:\w+ )?(?:priority|precedence)\b|\bprioriti[sz]e\b|\bdeprioriti[sz]e\b|\bpriorit(?:y|ies)\b ?(?:is|are|:|for|today|now|this|list|order|—|-)|\bprecedence over\b"
        r"|\b(?:is|are|it's|that's|=|as|all) (?:a )?p[0-3]\b|\bp[0-3] (?:is|are|first|before|now)\b|\b(?:is|are|it's|that's|this is|more|most|very|super|really|quite|the) urgent\b|^urgent\b|\basap\b|\b(?:business|time|most)[- ]?(?:critical|sensitive)\b|\b(?:is|are) critical\b|\b(?:top|bottom|front|end|back) of the (?:list|queue|backlog|pile|line)\b",
        r"\bpriority (?:field|column|queue|inversion|enum|level|property|value|attribute|flag|label|class|order)\b|\b(?:operator|css) precedence\b|\bnot (?:that )?urgent\b.*\?|\bprecedence of\b|\bcritical (?:section|path)\b",
    ),
    rule(
        "priority",
        "can wait|must wait|has to wait|have to wait|nice to have|nice-to-have|later|after that|back burner|low prio|not important|not urgent|no rush|eventually|low-prio|can come|next week|next sprint|wait",
        r"\b(?:can|must|has to|have to|will have to|should|may|needs to|need to) (?:wait|come later|happen later|come last|come after|slip)\b|\bnice[- ]to[- ]have\b|\bback burner\b|\blow[- ]prio\b|\b(?:isn't|aren't|is not|not) (?:that |so |very |as |too )?(?:important|urgent|pressing)\b|\bcomes? (?:later|last|second|afterwards)\b|\b(?:do|handle|fix|get to|deal with|worry about) (?:that|this|it|the rest|those|[\w ]{2,30}) (?:later|afterwards|last|after)\b|\bno rush\b.*\b(?:on|with|for)\b",
    ),
    rule(
        "priority",
        "first",
        r"^(?:please )?(?:start with|begin with|first thing|first (?:off|of all|the|get|do|fix|we|finish|make|things first)|the first thing)\b(?! (?:column|loop|argument|line|one|byte|element|row|test|commit))|\b(?:do|fix|finish|get|handle|take|make|tackle|solve|land|ship|merge|want|need|needs?|comes?|goes|has to (?:come|go|be done)|must (?:come|go|be done)|sort|close|release|clear|build|write|deal with)\b[^.;?]{0,60}\bfirst\b(?=$|[,.;:!—–-]| (?:and|then|please|pls|because|since|as|so|before)|, then)|\bfirst[,:]? (?:\w+ ){1,8}(?:then|after that|and only then|afterwards)\b|^[\w -]{2,40} first(?:$|[,.;:!—–-]|, then)",
        r"\b(?:first (?:column|loop|argument|line|byte|element|row|call|child|class|time|release|draft|version|name|glance|place|commit|page|item|step|pass|match|test|index|char|character|token|frame|run|paint|party)|is fine|at first|i (?:need|have|want) to|let me|i'll|who .* first|which .* first|what .* first|fails? first)\b",
    ),
    rule(
        "priority",
        "most important|more important|matters|important|focus|concentrate|over ",
        r"\b(?:most|more) important(?:ly)?\b|\b(?:what|all that|which|that) (?:really )?matters\b|\bmatters? (?:most|more|now|the most)\b|\b(?:focus|concentrate) (?:on|only)\b|\b(?:our|my|the|main|this week's|today's) focus\b|\b(?:stability|speed|correctness|quality|security|performance|features?|accuracy|safety|simplicity|readability|shipping|reliability|latency|throughput|cost|ux|tests?|bugs?|bug ?fixes|fixes|polish|scope|deadline) (?:over|before|trumps?|beats?|above|wins over) \w+"
        r"|\b(?:more|most) (?:pressing|critical)\b|\btrumps\b|\boutranks\b",
        r"\bfocus (?:state|ring|trap|event|style|handler|order|outline)\b|\bset focus\b|\bno matter\b|\bover (?:and over|there|time|here|http)\b",
    ),
    rule(
        "priority",
        "drop everything|stop everything|everything else|nothing else|all hands|deadline|due |must for|a must|must have|must-have|by friday|by monday|by tomorrow|by tonight|need|before the|has to|have to|must",
        r"\b(?:drop|stop|pause) (?:everything|whatever|all|what you)\b|\beverything else (?:can|is|waits|has|comes|later|after|second|must|should|afterwards)\b|\bnothing else (?:matters|until|before)\b|\b(?:is|are) a must\b|\bmust-have\b|\b(?:a|the|real|absolute) must have\b|\b(?:needs?|has|have|must) (?:to )?(?:be )?(?:\w+ )?(?:out|in|done|ready|fixed|live|shipped|finished|merged|go out|released|delivered|working|closed) (?:by|before|today|tonight|tomorrow|this week)\b|\b(?:hard )?deadline (?:is|for|on)\b|\bdue (?:by|on|tomorrow|today|friday|monday)\b",
    ),
    rule(
        "priority",
        "^nothing|^no ",
        r"^(?:nothing|no (?:one|feature|merge|deploy|release|work)s?)\b.*\b(?:until|before|unless|till)\b",
    ),
    rule(
        "priority",
        "depends on|waiting for|waits for|waiting on|needed for|need this for|need it for|rest depends|hinges on|prerequisite",
        r"\b(?:everything|the rest|all|the release|the demo|launch|rollout|we|team|others|everybody|everyone|they|\w+ team|i)\b[\w ]{0,30}(?:depends? on|hinges? on|waits? (?:for|on)|(?:is|are|'re|'m) waiting (?:for|on))\b|\bprerequisite\b",
        r"\b(?:thread|process|socket|lock|code|test|build|module|result|promise)s? (?:is |are )?(?:depends|waits|waiting)\b",
    ),
    # --- names and values
    rule(
        "value",
        " is | are |will be|was set|stays| changed| moved|=|:|called|named",
        rf"\b{_NAMED}\b[^.;?!]{{0,50}}?(?:\b(?:is|are|will be|was set|stays|changed|moved|is now|are now)\b(?: now)?(?: called| named| set| pinned| fixed| published as| at| on| in| under| to)?|=|:| called\b| named\b)\s*(?:the )?[\"'“‘(]?(?:{_CONCRETE})",
    ),
    rule(
        "value",
        "called|named",
        rf"\b(?:is|are|was|be|it's|get|gets)? ?(?:called|named)\b:?\s+[\"'“‘]?(?:{_CONCRETE})|\b(?:the|our|my|your|new) (?:\w+ ){{0,4}}{_NAMED}\b[\w ]{{0,20}} is (?:called|named) [\w.-]+|^(?:name|call) (?:it|the \w+|that \w+|this) [\"'`]?(?:{_CONCRETE})",
    ),
    rule(
        "value",
        "branch",
        r"\b(?:work|stay|commit|push|base|rebase|everything|go|continue|check ?out|put|land|target|goes)\b[^.;?]{0,40}\bbranch(?: is| called| named|:)? [\"'`]?[\w.-]+(?:/[\w.-]+)*|\bbranch(?: name)?(?: is|:| will be) [\w./-]+|\b(?:on|to|from|onto|against) (?:the )?[\w.-]+/[\w./-]+ branch\b",
    ),
    rule(
        "value",
        "port",
        r"\b(?:on|at|is|to|uses?|port:) (?:the )?port (?:is |to )?\d{2,5}\b|\bports? (?:is|are|=|:|must be|will be|stays) ?\d{2,5}|\bport \d{2,5} (?:is|for)\b|\b(?:listens?|runs?|bind|binds|serves?|reachable|exposed) (?:on|at) (?:\w+ ){0,2}(?:\S*:)?\d{2,5}\b",
    ),
    rule(
        "value",
        "set |pin|use version|stay on|bump|limit|keep |cap ",
        rf"\bset (?:the )?[\w.`-]+(?: \w+){{0,3}} to (?:{_CONCRETE}|true|false|on|off)|\b(?:is|are|stays?|stay|be|keep \w+|we)? ?(?:pinned|pin) (?:\w+ )?(?:to|at|on) (?:{_CONCRETE}|v?\d)|\bstay (?:on|at) (?:{_CONCRETE}|\w+ v?\d)|\b(?:cap|limit) (?:it|the [\w ]{{2,30}}|\w+) (?:to|at) \d",
    ),
    rule(
        "value",
        "http|s3:|gs:|postgres:|ssh:|redis:|ftp:|amqp:|file:|git@|jdbc:",
        r"\b(?:is|are|at|under|from|to|use|uses|via|here|:|lives|on|hosted|against)[:]? \(?<?(?:\w+://|git@)\S+",
        r"\b(?:returns?|returned|response|404|500|refused|failed|error|exception|curl|wget|get \"|dial tcp|look at|read|open|summari[sz]e|check|see|explain)\b",
    ),
    rule(
        "value",
        "gpio|pin |channel|address|register|bus|id |number|ticket|uuid|account",
        rf"\b(?:gpio|pin|channel|bus|slot|register|address|i2c address|lane|uart|relay|line) (?:0x[0-9a-f]+|\d+) (?:is|are|for|=|drives|controls|goes)\b|\b(?:id|number|uuid|account|ticket|key|code|tenant|serial)\b[^.;?]{{0,40}}(?::|=| is)\s*[\"'`]?(?:{_CONCRETE})|\b(?:ticket|issue|jira|epic|story) (?:is |number )?[a-z]{{2,8}}-\d+ (?:is|for)\b",
    ),
    rule(
        "value",
        ":|=|→|->",
        rf"^(?!.*\b(?:error|exception|failed|traceback|warning)\b)[\w /()-]{{3,50}}(?::|=|→|->)\s*[\"'`]?(?:{_CONCRETE})[\"'`]?(?:[\s,;.]|$)",
    ),
    rule(
        "value",
        "you'll need|you will need|credentials|for reference|use this|use the following|here's the|here is the|note the",
        rf"\b(?:you(?:'ll| will) need|for reference|use (?:this|the following)|here(?:'s| is) the|note the)\b[^.?]{{0,60}}(?::|=| is)?\s[\"'`]?(?:{_CONCRETE})",
    ),
    rule(
        "value",
        "use it|use that|use this|use these|read from|write to|when you",
        rf"(?:{_CONCRETE})[, ]+(?:so )?(?:use (?:it|that|this|these)|read from (?:it|there)|write (?:it )?(?:to|there))\b",
    ),
    rule(
        "value",
        "user|login|role|database|db |schema|host",
        r"\b(?:user|login|role|database|db|schema|host|bucket|queue|topic|cluster|namespace|tenant|instance|table|index) [\"'`]?(?:[a-z]+[_-][\w-]+|[\w-]+\d[\w-]*)\b(?=[,.; ]|$)[^?]*\b(?:use|is|as|and|for|with|there|,)",
        r"^(?:drop|delete|explain|show|why|query|select|rename|add|create|fix|look|check|list|find)\b",
    ),
    rule(
        "value",
        "seconds|minutes|hours|days|ms|mb|gb|kb|percent|%|rows|requests|px",
        r"\b(?:timeout|limit|quota|retention|ttl|interval|budget|maximum|max|minimum|min|threshold|period|window|size|rate|cap|delay|expir\w+)\b[^.;?]{0,40}\b(?:is|are|=|:|to|of|at|stays|must be) (?:about |exactly |at most |at least )?\d[\d.,]* ?(?:ms|milliseconds|s|sec|seconds?|min|minutes?|hours?|days?|weeks?|months?|kb|mb|gb|tb|percent|%|rows|requests|px|per|items|tokens|characters|bytes)?",
    ),
    rule(
        "value",
        "use |using|with |against|under|deploy to|connect to|log in",
        rf"^(?:always )?(?:use|using|work with|test (?:with|against)|deploy to|connect to|point (?:it|everything) (?:to|at)|log in (?:as|with))\b[^.;?]{{0,40}}\b{_NAMED}\b(?: number| name| id)?[: ]+[\"'`]?(?:{_CONCRETE})",
    ),
    rule(
        "value",
        " is ",
        r"^(?:our|the|my|your) (?:\w+ ){0,3}(?:project key|short ?code|code ?name|branch|prefix|tenant|region|namespace|cluster|bucket|username|database|queue|topic|workspace|abbreviation|ticket key) (?:name )?is \w[\w-]*$",
    ),
    # --- more of each, less common
    rule(
        "correction",
        "it's sp|it's written|it's pron|is spelled|is spelt",
        r"\bit(?:'s| is) (?:spelled|spelt|written|pronounced)\b|\b(?:is|are) (?:spelled|spelt)\b",
    ),
    rule(
        "correction",
        "doesn't|does not|don't|didn't|isn't",
        r"^(?:that|this|the|it|those|they|there)\b[^,;]{0,50}\b(?:doesn't|does not|don't|isn't|didn't) (?:exist|work like that|work that way|do that|mean|take|accept|belong|apply|have that|match|count)\b[^?]*[,;] ?(?:use|it|the|try|you|take|call|we|there)\b",
        r"\bwhy\b|\bhow\b",
    ),
    rule(
        "correction",
        "^not ",
        r"^not (?!sure|yet|bad|now|only|much|really|important|urgent|today|possible|necessarily|a (?:problem|big)|all|that (?:i|it)|too)[\w` -]{2,40}[,;:—–-] ?(?!right|ok|yes|but (?:i|we)|i (?:think|guess))[\w`]+",
    ),
    rule(
        "correction",
        "already",
        r"^(?:but |no |well )?(?:we|there|it|that|you|this) (?:'s |is |are )?already (?:have|has|had|exists?|a |an |does|handled|there)\b|\bwe(?:'ve| have) already (?:got|have) (?:a|an|that|this|one)\b",
    ),
    rule(
        "correction",
        "supposed to",
        r"\b(?:is|are|was|were|wasn't|isn't|weren't|aren't|'s|'re) (?:not |never )?supposed to\b",
        r"\b(?:how|what|where|when) (?:is|am|are|was)\b|\bwhat it's supposed\b",
    ),
    rule(
        "correction",
        "yours|you're|you are|you keep",
        r"\bbut yours\b|, yours (?:is|does|doesn't|has|was)\b|\byou(?:'re| are) (?:mixing|confusing|looking at the (?:wrong|old)|assuming|ignoring|using the (?:wrong|old)|thinking of|missing)\b|\byou keep \w+ing\b",
    ),
    rule(
        "correction",
        "i only|i just|all i ",
        r"\bi (?:only|just) (?:wanted|asked|meant|needed|said)\b|\ball i (?:asked|wanted|said)\b",
    ),
    rule(
        "correction",
        "the old|the other|previous|outdated|stale",
        r"^(?:that|this|it)(?:'s| is| was)? (?:the |for the |from the |an )(?:old|other|previous|outdated|stale|wrong|earlier) \w+",
    ),
    rule(
        "correction",
        "should read|should say|should point|should return|should go",
        r"^(?:it|that|this|the [\w` ]{2,40}) should (?:read|say|point|return|go|show|start|mean)\b[^?]*\b(?:not|instead|rather|but)\b",
    ),
    rule(
        "correction",
        "wait|sorry|hang on|oops|hmm",
        r"^(?:wait|hang on|hold on|oops|whoops)[,.! —–-]+(?:no|that|it|i|the|you|this|not|wrong)\b",
        r"\b(?:let me|look|check|what|why|how|read)\b",
    ),
    rule(
        "correction",
        "not true|is false|untrue|not the case|no such|never said|didn't say",
        r"\b(?:is|was|that's|it's|simply)? ?(?:not true|false|untrue|not the case|not how)\b|\bthere is no (?:such )?\w+ (?:in|called|named)\b",
        r"\b(?:return|returns|true or|set to|to|is) false\b",
    ),
    rule(
        "correction",
        "rename|you called|you named|misnamed|misspell|typo",
        r"\byou (?:called|named|misspelled|spelled) (?:it|the|them)\b|\bmisspell|\bmisnamed\b",
    ),
    rule(
        "correction",
        "again",
        r"^you (?:\w+ ){1,6}again\b|^again,? (?:you|the|that|this|not|it)\b",
        r"\b(?:run|try|can you|thanks)\b",
    ),
    rule(
        "decision",
        " then",
        r"^(?:merge|use|keep|take|make|drop|do|go|put|build|write|store|ship|remove|split|rename|move|call|leave|add|start|run|wait)\b[^?]{3,80}\bthen$",
    ),
    rule(
        "decision",
        "we keep|we stay|we leave|we accept|we live|we postpone|we skip|we wait|we need no|we stick|we do without|we call|we go |we drop",
        r"(?:^|[:,;—–] ?|\bso |\band )we (?:keep|stay|leave|accept|live|postpone|skip|wait|need no|stick|do without|call it|go|drop|stop)\b",
        r"\b(?:always|never|every|until|before|in this (?:repo|project|codebase))\b",
    ),
    rule(
        "decision",
        "take |pick |choose ",
        r"^(?:we |i |i'd |i'll )?(?:take|pick|choose) (?:the |option|plan|variant|number|a |an |your |my |that |this |one )(?!look|screenshot|note|break|guess)",
        r"\b(?:screenshot|a look|a (?:picture|copy|backup|dump|moment|minute|break|guess|note|snapshot)|input|argument)\b",
    ),
    rule(
        "decision",
        "stays|remains|stay as|stay where|stay like",
        r"\b(?:stays?|remains?) (?:at|as|in|on|with|where|the way|like|out|off|disabled|enabled|the same|untouched|unchanged|optional|private|manual)\b",
        r"\b(?:all|every|always|never|everything|why|how)\b",
    ),
    rule(
        "decision",
        "final call|final decision|verdict|conclusion|bottom line|settled|my call|my choice|my pick|my vote|my decision",
        r"^(?:final|my|the) (?:call|decision|choice|pick|vote|verdict|conclusion|answer)\b|^(?:verdict|conclusion|bottom line|settled)\b|\bi(?:'d)? vote\b",
    ),
    rule(
        "decision",
        "^hardcode|^hard-code|^stub|^reuse|^defer|^postpone|^accept|^mock|^inline|^go ahead|^yes to|^no to|^live with|^do without|^stop ",
        r"^(?:hardcode|hard-code|stub|reuse|defer|postpone|accept|mock|inline|live with|do without|yes to|no to|go ahead (?:with|and)|stop (?:working on|supporting|the|using|adding|with))\b",
        r"\beverywhere\b|\balways\b|\bthe (?:server|container|process|service|app)$",
    ),
    rule(
        "decision",
        "not needed|needn't|unnecessary|good enough|enough for|that's enough|is enough|isn't needed|aren't needed|can live with|don't care|doesn't need|too much",
        r"\b(?:is|are|'s|not|isn't|aren't) (?:not )?(?:needed|necessary|unnecessary|enough)\b(?! (?:to|for me to))|\b(?:good )?enough for (?:now|me|us|the|v1|this)\b|\bcan live with\b|\b(?:doesn't|don't) need (?:a|an|any|to be|the)\b|\b(?:that's|is|are|it's) (?:way )?too much\b",
        r"\b(?:always|never|ever|is that|not good|isn't good)\b",
    ),
    rule(
        "decision",
        "i'd go|i would go|i'd take|i'd say|i think we|i say|i want",
        r"\bi(?:'d| would) (?:go|take|pick|keep|use|drop|skip|leave)\b|^i say\b|\bi think we (?:go|keep|take|drop|use|skip|do)\b",
        r"\bif\b",
    ),
    rule(
        "decision",
        "instead",
        r"^(?!you\b|i\b)[^?]{3,80}, (?:use|do|make|render|show|put|write|store|take|return|send|keep|try) [^?]{2,60} instead\b",
    ),
    rule(
        "architecture",
        "may not|must not|cannot|can not|can't|may only|must only|should only|can only|only through|only via|only from",
        r"^(?!i\b|you\b|it\b|that\b|this\b|there\b|he\b|she\b|we\b)[\w` ,/-]{2,60} (?:may|must|should|can|shall|cannot|can't) ?(?:not|never|only)? (?:import|call|use|depend|know|access|touch|read|write|talk|hold|contain|be imported|be called|be used|go|throw|block|log|see|live|reach|be (?:accessed|mutated|created|written))\b|\bonly (?:through|via|from) (?:the|a|an|our|its)\b",
        r"\b(?:why|how|what|which|until|before|user|users|customer|client) (?:can|may|must|should)\b|\b(?:until|before|find|reproduce)\b",
    ),
    rule(
        "architecture",
        "never ",
        r"^(?!i\b|you\b|it\b|that\b|this\b|there\b|he\b|she\b|they\b|the (?:build|test|page|app|job|server|function|bug|user|script|loop|value|request)\b)[\w` /-]{2,50} never (?!mind|worked|used|called|happened|finishes|ends|fires|gets called|returns|loads|thought|had|been|went|came|said|was)\w+",
        r"\bwhy\b|\bnever (?!pass\b|access\b|process\b|cross\b|address\b|miss\b|discuss\b)\w+s\b|\b(?:who|that|which) never\b",
    ),
    rule(
        "architecture",
        "everything|all |every|each|anything",
        r"\b(?:everything|all|every|each|anything)\b[\w` -]{0,40} (?:must|should|has to|have to|needs to|need to|shall) \w+",
        r"\b(?:before|until|first|today|done by|be (?:done|merged|green|fixed|ready))\b",
    ),
    rule(
        "architecture",
        "i want|we want",
        r"^(?:i|we) want (?:all|every|no|only|each|one) \w+|^(?:i|we) want [\w` -]{3,60}\b(?:everywhere|in (?:this|the|our) (?:codebase|repo|project|service|code)|throughout|across)\b",
    ),
    rule(
        "architecture",
        "per ",
        r"\bone [\w-]+(?: [\w-]+)? per \w+",
        r"\b(?:for now|this time|print|write|show|give|generate|create|make|output|at a time)\b",
    ),
    rule(
        "architecture",
        "compatib|support|work on|work with|run on",
        r"\b(?:must|has to|have to|needs? to|should) (?:stay|remain|be|keep) (?:backwards?[- ])?compatible\b|\bbackwards?[- ]compatib\w+ (?:is|must|matters)\b|\b(?:must|has to|have to) (?:support|work (?:on|with|without|offline)|run (?:on|without|offline))\b",
    ),
    rule(
        "architecture",
        "by convention|convention is|our convention|is standard|our standard|is the rule|house style|as policy|is policy|agreed rule",
        r"\bby convention\b|\b(?:our|the|house|team) (?:convention|standard|style|policy|rule)\b.{0,20}\b(?:is|says|:)|\bis (?:our |the |team )?(?:standard|policy|convention|rule)\b",
        r"\bwhat\b",
    ),
    rule(
        "architecture",
        "we log|we ship|we store|we write|we test|we version|we deploy|we build|we treat|we name|we format|we return|we validate|we handle|we keep|we put|we use|we call|we wrap|we document|we review",
        r"^(?:here |in this (?:repo|project|codebase|service|team),? )?we (?:log|ship|store|write|test|version|deploy|build|treat|name|format|return|validate|handle|keep|put|use|call|wrap|document|review)\b[^?]*(?:,? (?:always|never|not|no|only|everywhere)\b|\bhere$|\bin (?:this|our|the) (?:repo|project|codebase|service|code)\b|\bfor (?:all|every|any|everything))",
        r"\b(?:today|tomorrow|this (?:week|sprint|time)|for now|until|before)\b",
    ),
    rule(
        "architecture",
        "everywhere|throughout|across the",
        r"^(?:use|write|name|log|prefer|wrap|return|validate|format|put|follow|apply)\b[^?]*\b(?:everywhere|throughout|across the (?:code ?base|project|repo|board))\b",
    ),
    rule(
        "architecture",
        "source of truth|owns|own their|its own|their own",
        r"\b(?:every|each|all) [\w-]+s? (?:owns?|has|have|gets?) (?:its|their) own\b|\bowns? (?:its|their) own\b",
    ),
    rule(
        "architecture",
        "^avoid|^ban|^no |^only ",
        r"^(?:avoid|ban) \w+|^only [\w` -]{2,40} (?:may|can|should|must|is allowed|are allowed)\b",
    ),
    rule(
        "priority",
        "^before",
        r"^before (?:anything|everything|all else|you (?:do|start|touch|begin|continue)|we (?:do|start|touch|begin|continue|go)|that|the rest|any other)\b",
        r"\b(?:it worked|was|used to)\b",
    ),
    rule(
        "priority",
        "slip|late|after the|afterwards|last|later",
        r"\bcan (?:slip|be late|come (?:later|after|afterwards|last)|happen (?:later|after))\b|^(?:the )?[\w -]{2,30} (?:comes? |goes? |is |are )?last(?:$|[,.;])|, [\w ]{2,30} last$|\b(?:later|afterwards)[,.]? (?:once|when|after)\b|^(?:and |then )?[\w -]{2,40} (?:later|afterwards)$",
        r"\b(?:the last|at last|last (?:week|time|night|year|run|line|commit|one))\b|\bremind\b",
    ),
    rule(
        "priority",
        "needs to|need to|has to|have to|must|needs ",
        r"\b(?:needs? to|has to|have to|must) (?:go|be|get|work|land|ship|happen)\b(?: \w+){0,4} (?:today|tonight|tomorrow|by (?:monday|tuesday|wednesday|thursday|friday|then|noon|tonight|tomorrow|the end|end of|eod)|this week|this morning|right now|now|immediately|asap|soon|first)\b|\b(?:work|ready|done|fixed|finished) by (?:then|monday|tuesday|wednesday|thursday|friday|tomorrow|tonight|noon|eod|the demo|the release)\b",
    ),
    rule(
        "priority",
        "concern|matter|care about|bother us",
        r"\b(?:isn't|is not|not|no|aren't) (?:a |an |our |really )?(?:concern|priority|issue)s? (?:right now|now|yet|at the moment|this week|for now|today)\b|\b(?:doesn't|don't|does not|do not) matter (?:right now|now|yet|for now|as much|so much)\b|\bcare (?:more|most) about\b|\b(?:biggest|main|first|only|real) concern\b",
    ),
    rule(
        "priority",
        "waiting|waits",
        r"^(?!i'm waiting for (?:you|the (?:build|tests|download))|the (?:thread|process|socket|test|call|loop|code))[\w' -]{1,40}(?:'s|'re| is| are| has been| have been) (?:all |still |already )?waiting (?:for|on)\b",
    ),
    rule(
        "priority",
        "number one|no. 1|top item|top task|next up|do it next|do this next|do that next|is next|comes next|top of|main goal|main thing|first on|#1",
        r"\b(?:number one|no\. ?1|#1|top (?:item|task|thing|ticket)|main (?:goal|thing|task)|first on the list)\b|\bnext up\b|\b(?:do|take|tackle|handle|fix) (?:it|this|that|the [\w ]{2,30}) next\b|\b(?:is|comes|goes) next\b",
        r"\bwhat\b|\bwhich\b",
    ),
    rule(
        "priority",
        "hold |freeze|pause|wait with|put off|on hold",
        r"^(?:hold|pause|freeze|park|stop) [\w ]{2,50}\b(?:until|till|while|for)\b|\bon hold\b|\b(?:wait with|hold off (?:on|with)|put off)\b",
    ),
    rule(
        "priority",
        "start with|begin with|kick off|first do|first fix|first of all|firstly|first,|first:",
        r"^(?:please )?(?:start|begin|kick off) (?:with|by)\b|^first(?:ly| of all| up)?[,:]? (?:we |you |get |do |fix |make |finish |the |let's )",
        r"\bwith the (?:letter|word|prefix)\b|\b(?:first (?:column|line|row|loop|name|argument|test|byte|one|element|call|request|time|step|page|commit|result|item))\b",
    ),
    rule(
        "priority",
        "urgen|critical|crucial|vital|essential",
        r"\b(?:most|more|very|really|super|extremely|is|are|it's) (?:\w+ )?(?:urgent|critical|crucial|vital|essential)\b|\burgency\b",
        r"\bnot\b.*\?|\bcritical (?:section|path)\b",
    ),
    rule(
        "priority",
        "everything else|the rest|all else|anything else|other stuff",
        r"\b(?:everything else|the rest|all else|all the rest|anything else|the other (?:stuff|things|tickets|tasks)) (?:can|must|has to|will|waits|is secondary|comes|may|later|after|depends)\b|\b(?:ahead of|before|over|above) (?:everything|anything|all) (?:else)?\b",
    ),
    rule(
        "value",
        "name |cluster|bucket|queue|topic|namespace|tenant|instance|region|project|database|host|deploy",
        rf"\b(?:cluster|bucket|queue|topic|namespace|tenant|instance|region|project|database|host|device|container|image|server|machine|zone|index|table|user|account)(?: name| id)? (?:{_CONCRETE})(?=$|[,.; ])|\bdeploy(?:s|ed|ing)? (?:to|from|into|on) (?:the )?(?:{_CONCRETE})",
        r"^(?:drop|delete|explain|show|why|query|select|rename|add|create|fix|look|check|list|find|in)\b|\b(?:fails?|failed|error|line|broken|slow|crash\w*)\b",
    ),
    rule(
        "value",
        ".",
        r"^(?:we |always |please )?(?:use|uses|run|runs|running|stay on|target|targets|pin|pinned|requires?|need|needs|on)\b[^.?]{0,30}\b[a-z][\w+#-]* v?\d+(?:\.\d+)+",
        r"\b(?:compare|upgrade|update|bump)\b",
    ),
    rule(
        "value",
        "encoding|separator|delimiter|charset|locale|currency|timezone|time zone|language|unit|format|separated|indent",
        r"\b(?:encoding|separator|delimiter|charset|locale|currency|time ?zone|language|units?|date format|file format|base unit|line ending)s?(?: for [\w ]{2,30}| of [\w ]{2,30})? (?:is|are|=|:|must be|will be)(?: always)? (?:an? )?(?!wrong|broken|missing|off|not|only|also|just|still|a must|nice)[\w/#-]+",
        r"\bwhat\b",
    ),
    rule(
        "value",
        "lives|live in|stored|kept|found|sits|located|under |is in|are in|is at",
        r"\b(?:lives?|stored|kept|found|sits?|located|is|are|goes|logs) (?:in|at|under|on) [\"'`]?(?:~|/|\./|\.\w|\w+://|[\w-]+/)[\w./~-]{2,}",
        r"\b(?:bug|error|typo|failing|todo|mistake|problem|issue|function|class|test|method)\b",
    ),
    rule(
        "value",
        "channel|slack|#",
        r"\b(?:channel|room|list|tag|label|ticket|issue|milestone|hashtag)\b[^.?]{0,20}\b(?:is|:|called|named) ?#?[\w-]+-[\w-]+|\b(?:is|:) #[\w-]{2,}",
    ),
    rule(
        "value",
        "codename|code name|is called|we call|goes by|nickname|named|abbreviat",
        r"\b(?:codename|code name|nickname|abbreviation) (?:is|for|:)|\b(?:product|project|app|tool|company|team|package|repo|branch|feature|release|service|bot)(?: itself| name)? (?:is|will be) (?:called|named) [\w-]+",
    ),
    rule(
        "value",
        "@",
        r"\b(?:is|are|at|to|as|mail|email|contact|account|user|write)\b[^?]{0,30} [\w.+-]+@[\w-]+\.\w+",
        r"\b(?:error|failed|regex|validate)\b",
    ),
    rule(
        "value",
        "max|min|limit|most|least|threshold|budget|size|rate|timeout|retries|count|depth|width",
        r"\b(?:max(?:imum)?|min(?:imum)?|limit|threshold|budget|size|rate|timeout|retry count|retries|depth|width|height|batch size|quota|ratio|cap)\b[\w ]{0,25}(?:is|are|=|:|of|must be|should be|stays|to) (?:about |exactly |at most |at least |now )?\d[\d.,_]*",
        r"\b(?:why|spec says|error|got|expected|returns?)\b|^(?:add|rename|change|check|find|fix)\b",
    ),
    # --- wider nets
    rule(
        "correction",
        "you ",
        r"(?:^|[,.;:—–] ?|\bbut |\bbecause )you(?:'ve| have)? (?:just |only |actually |still |now )?(?!can\b|could|should|may|might|will|need|want|know|see|find|said|proposed|suggested|mentioned|described|asked|convinced|listed|are|were|think|like|do\b|have\b|get\b|said)(?:\w+ed|wrote|gave|took|put|made|left|did|hit|drew|broke|kept|sent|ran|built|set|read|got|lost|forgot|missed)\b(?! it right)",
        r"\b(?:thanks|thank you|great|good job|nice|well done|perfect|works)\b|\b(?:as|like|what|that|which|when|if|once|after|before|until) you\b|\bgot it right\b",
    ),
    rule(
        "correction",
        "like you did|as you did|the way you did",
        r"\b(?:not|don't|doesn't|never|isn't)\b.*\b(?:like|as|the way) you did\b|\b(?:twice|again|wrong(?:ly)?) like you did\b",
    ),
    rule(
        "correction",
        "earlier|before i|above i|previously|i wrote|i said",
        r"\b(?:earlier|above|previously|yesterday) i (?:wrote|said|told|mentioned|gave|asked)\b|^i (?:wrote|said|told you|gave you) [^,]{2,50}, (?:it|but|that|make|should|actually)\b",
    ),
    rule(
        "correction",
        " not ",
        r"(?:,| and| but) not (?:the |a |an |about |in |on |for |from |by |to |with |my |our |its )?[\w`'-]+(?: [\w`'-]+){0,2}$",
        r"^(?:do|please|make sure|why|if|all|every|we|keep|always|never)\b|\b(?:everywhere|always|never|ever|from now on|yet|sure|why|only|or not|if not|whether|must|should (?:use|be used)|in this (?:repo|project|codebase))\b|\bnot (?:yet|sure|now|needed|a problem|bad|important|urgent)\b",
    ),
    rule(
        "correction",
        "different|another|other one|else",
        r"\byou \w+ (?:a different|another|the other|something else|the wrong)\b|\b(?:i'm|i am|i was) (?:talking|asking) about (?:a different|another|the other|something else)\b|\bthat's (?:a different|another) \w+",
    ),
    rule(
        "correction",
        "misleading|nonsense|no sense|bogus|made up|hallucinat|invented",
        r"\b(?:that|this|it|which)(?:'s| is| was| makes| are)? (?:complete |total |just )?(?:nonsense|bogus|made up|invented|no sense)\b|\byou (?:made|hallucinated|invented)\b",
    ),
    rule(
        "correction",
        "too ",
        r"^(?:that|this|it)(?:'s| is| was) (?:way |far |much )?too (?:\w+)[,;.] ?(?:i|make|use|the|keep|only|just|it)\b",
    ),
    rule(
        "decision",
        "^ship |^merge |^release |^launch ",
        r"^(?:ship|release|launch|merge) (?:it|the|this|that|both|only|without|what)\b",
        r"\b(?:conflict|before|until|when)\b",
    ),
    rule(
        "decision",
        "done deal|answer is|settle for|do without|deal is|so be it|that's that|end of discussion|case closed|call it a day|let it be|agreed on|we agreed|it's a yes|it's a no",
        r"\bdone deal\b|\bthe answer is (?:yes|no)\b|\bsettles? for\b|\b(?:can|will|we|we'll) do without\b|\bso be it\b|\bthat's that\b|\bend of discussion\b|\bcase closed\b|\blet it be\b|\bwe(?:'ve| have)? agreed (?:on|to|that)\b|\bit's a (?:yes|no)\b",
    ),
    rule(
        "decision",
        "^make it|^do it|^call it|^name it|^put it|^keep it|^leave it|^turn it|^have it",
        r"^(?:make|do|call|name|put|keep|leave|turn|have) it (?!work|pass|fast|faster|again|now|clear|so|right|shorter|longer|look|green|up\b|first|next|later)[\w`]+",
        r"\b(?:everywhere|always)\b|\bin (?:tests|the readme|a table)\b",
    ),
    rule(
        "decision",
        "dropping|skipping|keeping|going |moving|switching|postponing|cutting|leaving|staying",
        r"\b(?:we're|we are|i'm|i am|so|then) (?:now )?(?:dropping|skipping|keeping|moving|switching|postponing|cutting|leaving|staying|sticking|giving up|going)\b(?! (?:to (?:bed|lunch|sleep|look|check|ask|read|need)|home|crazy|mad|nuts|insane))",
        r"\b(?:why|how|what|if)\b",
    ),
    rule(
        "decision",
        "is fine|are fine|is ok|is okay|works for me|is good|will do|suffices|is all we need|that'll do",
        r"^(?!all|everything|that's|that|this|it|looks|the (?:tests|build))[\w` ,-]{3,60} (?:is|are) (?:fine|ok|okay|good|enough|plenty)(?: for (?:now|me|us|this|v1|the \w+)|, (?:no|don't|we|just))|\b(?:will|that'll|would) do(?: for now)?$|\bsuffices?\b|\bis all (?:we|i) need\b",
    ),
    rule(
        "decision",
        "without",
        r"^(?:do|build|ship|write|start|go|run|deploy|release|make|we|leave|try) [^?]{0,40}\bwithout (?:the |a |an |any )?\w+$",
        r"\b(?:how|always|never|must|work)\b",
    ),
    rule(
        "decision",
        "no ",
        r"(?:^|, |; )no \w+(?: \w+){0,2} (?:here|there|for (?:this|that|it|now|these)|this time|at this point|in (?:v1|the (?:first|mvp|demo|prototype)))\b",
        r"\bno (?:idea|problem|need|rush|hurry|reason|way|one|change|difference|such|errors?)\b|\bin this (?:repo|project|codebase)|\bever\b|\balways\b",
    ),
    rule(
        "architecture",
        " only",
        r"^(?!show|print|list|return|run|give|use|take|keep|make|i\b|you\b|the (?:test|bug|error)|it\b|this\b|that\b|we\b|change|fix)[\w` -]{2,40} (?:comes?|goes|go|uses?|is|are|talks?|reads?|gets?|accepts?|takes?|lives?|happens?|belongs?|depends?|runs?) [\w` -]{2,50} only$|^(?!i\b|you\b|it\b)[\w` -]{2,40} (?:only )?(?:comes?|talks?|goes|go) (?:only )?(?:from|to|through|via) [\w` -]+$",
        r"\b(?:why|how|what|where|when|fails?|failed|crash|slow|broken|error)\b",
    ),
    rule(
        "architecture",
        "api|interface|schema|protocol|library|package|service",
        r"^(?:the |our |this )?(?:public |internal |rest |whole )?(?:api|interface|schema|protocol|library|package|service|core|domain|module|sdk|cli|frontend|backend|server|client)s? (?:is|are|has|have|must|stays?|remains?|should|may|needs? to|never|always|only|does not|doesn't|exposes?|owns?) (?:be |stay |remain |not |no |zero |only |never |always |free |kept )?(?:versioned|stateless|pure|read-?only|zero|free|dependency|independent|no\b|backwards?|compatible|stable|immutable|synchronous|asynchronous|thin|agnostic|not\b|never\b|only\b|expose|know|import|depend|idempotent|framework)",
    ),
    rule(
        "architecture",
        "anywhere|nowhere",
        r"^(?!i\b|find|is|are|search|look|where|it\b|there (?:is|are)).*\b(?:anywhere|nowhere else|nowhere)\b",
        r"\b(?:found|find|search|mentioned|documented|see|used|go)\b.*\banywhere\b|\bgoes? nowhere\b",
    ),
    rule(
        "architecture",
        "doesn't|does not|don't|do not",
        r"^(?!i\b|you\b|it\b|that\b|this\b|there\b|he\b|she\b|they\b|the (?:test|build|page|button|script|code|app|function|link|server|image|job)\b|we\b)[\w` -]{2,40}(?:s|code|layer|core|domain)? (?:doesn't|does not|don't|do not) (?:import|depend|know|touch|call|talk|access|use|reach|throw|log|hold|contain|share|leak|mutate|block|belong)\b",
        r"\b(?:why|how|anymore|any more|when i)\b",
    ),
    rule(
        "architecture",
        "idempotent|stateless|immutable|pure|deterministic|thread-safe|thread safe|side effect|versioned|typed|reproducible|offline",
        r"\b(?:must|should|has to|have to|needs? to|always|stays?|remain|are|be) (?:\w+ )?(?:idempotent|stateless|immutable|pure|deterministic|thread[- ]safe|side[- ]effect free|versioned|typed|reproducible|offline)\b",
        r"\b(?:why|how|what|is it|so that|refactor)\b",
    ),
    rule(
        "architecture",
        "by hand|hand-written|handwritten|vanilla|plain ",
        r"^(?:in this \w+ )?we (?:write|do|keep|use|build) [^?]{2,50} (?:by hand|vanilla|plain)\b",
    ),
    rule(
        "priority",
        "order|then ",
        r"\bin (?:that|this|the following|exactly this) order\b|^[^?]{3,60}, then [^,?]{2,40}(?:,| and) (?:then|finally|last|after that) |^(?:first )?(?:fix|do|finish|get|ship|handle|close) [^?]{2,50}, (?:and )?(?:only )?then (?!run|show|tell|give|commit|print|report|summari[sz]e|explain|list|paste|open|call|return)\w+",
        r"\b(?:alphabetical|sort|reverse|insertion|tab|byte|wrong|loop|function|call(?:s|ed)?)\b",
    ),
    rule(
        "priority",
        "^until|^till|^as long as|^while ",
        r"^(?:until|till|as long as) [^?]{3,70},? (?:no|nothing|don't|do not|we|keep|leave|only|not|everything|all)\b",
    ),
    rule(
        "priority",
        "prio",
        r"\b(?:low|high|top|lowest|highest|max|first|second|last|medium) prio\b|\bprio(?:rity)? ?(?:1|one|a|0|zero|2|two|3)\b|\bprio:|\b(?:has|have|get|gets|gives?|given) (?:\w+ )?prio\b",
    ),
    rule(
        "priority",
        "comes first|come first|goes first|go first|is first|are first|first priority|the first thing|comes before|go before|goes before|come before",
        r"\b(?:comes?|go(?:es)?|is|are|has to come|must come|have to come) (?:first|before)\b(?! (?:the )?(?:line|loop|call|column|statement|semicolon|bracket|comma))",
        r"\b(?:what|which|who|why|whether|alphabet|argument|parameter|field|in the (?:docs?|readme|spec|code|logs?|table|file|output|config))\b",
    ),
    rule(
        "priority",
        "important|matter",
        r"\b(?:more|most|less|least) important\b|\bimportant(?:ly)?(?: right)? now\b|\b(?:all|only thing|thing|what) that (?:really )?(?:matters|counts)\b|\b(?:matters|counts) (?:most|more than|now|today)\b",
        r"\bno matter\b|\bdoes it matter\b",
    ),
    rule(
        "priority",
        "without ",
        r"\b(?:can't|cannot|can not|won't|nobody can|no one can|we can't|i can't) (?:\w+ ){1,6}without (?:it|this|that|the|a)\b",
        r"\b(?:why|how)\b",
    ),
    rule(
        "priority",
        "stuck|held up|holding up|in the way|bottleneck",
        r"\b(?:i'm|i am|we're|we are|team is|everyone is|they are|they're|\w+ is) (?:all )?(?:stuck|held up)\b|\b(?:is|are|it's) (?:holding|what holds) (?:us|me|everyone|everything|the \w+) (?:up|back)\b|\bis the bottleneck\b",
        r"\b(?:process|thread|loop|job|test|pod|build|it|query|request) is stuck\b",
    ),
    rule(
        "value",
        "address|pin|port|channel|slot|bus|baud|gpio|i2c|spi|uart|line",
        r"\b(?:is|are|sits?|on|at|uses?|listens?|wired|connected|attached|hangs?)\b[^?]{0,40}\b(?:address|pin|port|channel|slot|bus|baud(?: rate)?|gpio|uart|i2c)s? (?:0x[0-9a-f]+|\d+)\b|\b\d+ baud\b",
        r"^(?:why|check|find|is)\b|\b(?:error|refused|failed|in use)\b",
    ),
    rule(
        "value",
        "use |profile|workspace|context|environment|account",
        r"\b(?:use|using|with|under|in|on|switch to|against) (?:the |our |my )?(?:\w+ )?(?:profile|workspace|context|environment|account|tenant|cluster|namespace|project|org|registry|bucket|queue|region|database|schema|role|branch|remote|runner|channel|template|theme|preset) [\"'`]?(?:[a-z0-9]+[-_./][\w./-]+|\w*\d\w*)",
        r"^(?:why|explain|drop|delete|remove|rename)\b",
    ),
    rule(
        "value",
        " is | are |:",
        r"^(?:the |our |my |for reference,? )?(?:\w+ ){0,4}(?:contact|owner|reviewer|maintainer|codename|mascot|product name|company name|package name|project name|app id|bundle id|client id|key id|release name|launch date|release date|go-?live|deadline|due date|cut-?off|freeze)(?: \w+)? (?:is|are|will be|:) ?[\w@#\"'`]",
    ),
    rule(
        "value",
        "=",
        r"(?:^|[\s`])[a-z_][\w.-]{2,40} ?= ?[\"'`]?[\w./:-]{1,60}[\"'`]?(?:$|[\s,.;`])",
        r"[(){}\[\]]|==|\b(?:why|error|if|what)\b|^(?:let|const|var)\b",
    ),
    rule(
        "value",
        "version|v1|v2|v3|v4|v5|v6|v7|v8|v9",
        r"\b(?:we(?:'re| are)? on|we use|we run|it's|is|are|on|stay at|stuck on|running|runs) (?:\w+ )?(?:version )?v?\d+\.\d+(?:\.\d+)?\b",
        r"\b(?:why|what|error|failed|upgrade|bump|update|is it)\b",
    ),
    # --- and what is said in passing
    rule(
        "correction",
        "^wrong|that's the|that is the|this is the",
        r"^wrong[,.:!;]|^(?:that|this)(?:'s| is) (?:the )?[\w -]{2,30}, (?:but )?i (?:need|want|asked|meant|said|was)\b",
    ),
    rule(
        "decision",
        ", leave|, keep|, skip|, drop|, forget|, scrap|, ignore",
        r"^(?!if|when|where|please check)[^?]{3,80}, (?:so |just |then )?(?:leave|keep|skip|drop|forget|scrap|ignore) (?:it|that|them|this|the [\w ]{2,30})(?: as (?:is|it is)| in| out| alone| for now)?$",
    ),
    rule(
        "decision",
        " it is",
        r"(?:^|, )(?!what|how|where|as|so|that|is|whatever)[\w`'. -]{2,40} it is(?: then| for now)?$",
    ),
    rule(
        "decision",
        "can go|can die|is out|is gone|off the table|out of scope|gets removed|goes away|gets dropped|against",
        r"\b(?:can go|can die)(?:$|[,.;])|\b(?:is|are) (?:off the table|out of scope|not in scope)\b|\b(?:gets?|will be|is) (?:removed|dropped|cut|postponed) (?:in|for|with|from)\b|\bgoes away\b|\b(?:decided|voted|i'm|am|we're|are) against\b",
        r"\b(?:why|when|if)\b",
    ),
    rule(
        "decision",
        "^yes> ",
        r"^yes> (?:do|split|use|make|drop|keep|remove|merge|go|take|put|rename|move|delete|switch|ship|store|build|start|leave|both|only|one|replace|convert|cache|inline|raise|fail) (?!on\b|ahead$|it$|that$|this$|so$|please)\w+",
    ),
    rule(
        "decision",
        " then",
        r"^(?!now|well|what|until|by|since|see|how|and|back|only|just|if|or|even|ok)[\w.+#' -]{2,30} then$",
        r"\b(?:run|show|test|try|check|tell|explain|continue|next)\b",
    ),
    rule(
        "decision",
        "^better |i'd better|^rather |^not doing|^not going|^not using|^not adding|after all",
        r"^better (?:to|if we|we|not)\b|^rather (?:not|no|a|the|use|keep)\b|^not (?:doing|going|shipping|using|adding|building|supporting|worth)\b|\bafter all$",
    ),
    rule(
        "decision",
        "^don't|^do not|^dont",
        r"^(?:don't|do not|dont) \w+ [^,?]{2,50}, (?:just |only |simply |we )?(?:start|use|keep|leave|do|make|take|put|show|write|go|copy|link|store|ask|return|reuse|can|will)\b",
        r"\b(?:ever|always|anywhere|in this (?:repo|project|codebase))\b",
    ),
    rule(
        "decision",
        "nobody uses|no one uses|nobody needs|not used|isn't used|unused",
        r"^(?:we )?(?:drop|kill|cut|scrap|ditch) [^,?]{2,50}, (?:nobody|no one|it's|it isn't|they're)\b",
    ),
    rule(
        "architecture",
        "^only ",
        r"^only (?:the |our |a )?[\w -]{2,30} (?:talks?|calls?|knows?|writes?|reads?|touches|touch|accesses|access|may|can|imports?|owns?|holds?|creates?|decides?)\b",
    ),
    rule(
        "architecture",
        "^no ",
        r"^no (?!idea|problem|worries|need|rush|thanks|doubt|matter|way\b|longer|hurry|errors?|changes?|difference|output|luck)[\w` -]{2,40} (?:in|inside|outside|within|from|between|across) (?:the |our |any )?[\w` -]{2,30}$",
        r"\b(?:this (?:pr|release|one|time|sprint|version)|v1|for now|the (?:first|demo|prototype|mvp))\b",
    ),
    rule(
        "architecture",
        ", no |, never |, nobody |, nothing ",
        r"^(?:anything|everything|all|every|each|any|nothing|(?!this|it's|its|lets|let's|thanks|yes|looks|works|as|was|is|has|does|us|sometimes|always)[a-z]+s)\b[^?,]{5,60}, (?:no|never|nobody|nothing|not) \w+(?: \w+){0,3}$",
        r"\b(?:for now|this time|why|today|yet|fails?|failed|down|broken)\b",
    ),
    rule(
        "architecture",
        "we use|we have|we do ",
        r"^(?:here |in this \w+,? )?we (?:use|have|do|write) [^?,]{2,40}, (?:not|no|never) [^?]{2,40}(?:$|, (?:in|for|across))",
    ),
    rule(
        "priority",
        "block",
        r"\b(?:this|it|that|which|bug|issue|ticket|thing|one|failure|pr|crash|it's|migration|outage) (?:\w+ )?(?:blocks|is blocking|has blocked) (?!of|the (?:thread|loop|call|ui|event|request))\w+",
        r"\bif\b",
    ),
    rule("priority", "what you|whatever you|what ever", r"\b(?:stop|drop|leave|pause) what(?:ever)? you\b"),
    rule(
        "priority",
        "^first the|^first a|the rest after|rest after|after that the|hurry|quickly please|time critical",
        r"^first (?:the|a|all) [\w ]{2,40}(?:,|;| then| and then|$)|\bthe rest (?:after|later|afterwards|then|comes)\b|\bplease hurry\b|\btime[- ]critical\b",
        r"\bfirst (?:the|a|all) (?:column|line|row|argument|element|test|test case)\b",
    ),
    rule(
        "value",
        "find|logs|log to|save|store|export|output|goes to|go to|write to|look in|under ",
        r"(?:\byou(?:'ll)? (?:can )?find\b|\b(?:logs?|saves?|stores?|exports?|goes?|go|dumps?|backups?|writes? (?:logs|output|results)|results|outputs?|fixtures?|data|files|configs?|models?|samples?)\b)[^?,;]{0,30}\b(?:under|in|to|from|at|into) [\"'`]?(?:~|/|\./|[\w-]+/)[\w./~-]{3,}",
        r"^(?:why|find|fix|rename|delete|remove|move|copy|add|show|where|look)\b|\b(?:bug|typo|error|function|test|line)\b",
    ),
    rule(
        "value",
        " on |running",
        r"\b(?:we're|we are|i'm|i am|server is|prod is|staging is|they're|runs|running|machine is|box is|it runs) on (?:a |an )?[a-z][\w.+#-]* v?\d[\w.]*",
    ),
    rule(
        "value",
        " is ",
        r"^(?:the |our |my |your )?(?:[\w-]+ ){0,3}(?:project|bucket|branch|queue|topic|cluster|tenant|instance|org|profile|workspace|account|database|service|host|container|namespace|role|group|registry|image|package|repo|channel|stack|app)(?: name| id)? (?:is|will be|should be)(?: called| named)? [\"'`]?[a-z0-9]+[-_./][\w./-]+",
        r"^(?:why|what)\b",
    ),
    rule(
        "value",
        "seed|size|rate|epoch|dropout|temperature|retries|workers|threads|replicas|dpi|fps|threshold|resolution|tokens",
        r"(?:^|, |; |\buse |\bwith )(?:a |the )?(?:random )?(?:seed|batch size|learning rate|epochs?|dropout|temperature|retries|workers|threads|replicas|dpi|fps|threshold|weight decay|max tokens|resolution)(?: of| is|:|=)? \d[\w.e-]*",
    ),
    rule(
        "value",
        " at | on | under ",
        r"\b(?:is|are|runs?|lives?|sits?|reachable|available|listens?|hosted|answers?) (?:at|on|under|behind) [\"'`]?(?:[\w-]+(?:\.[\w-]+){1,}(?::\d+)?|[\w-]+:\d{2,5})\b",
        r"\b(?:line|why|where)\b",
    ),
    rule(
        "value",
        "^use ",
        r"^use [\"'`]?[\w-]*\d+\.\d+[\w.-]*[\"'`]? (?:from|in|at|for|on|with|and)\b|^use [\"'`]?(?:~|/)[\w./-]{3,}",
    ),
    rule(
        "value",
        "at 0|at 1|at 2|every day|o'clock|utc|:00|:15|:30|:45",
        r"\b(?:runs?|starts?|happens?|scheduled|fires?|deploys?|closes?|opens?|is|are)\b[^?]{0,30} (?:at|for|until) \d{1,2}[:.]\d\d\b",
        r"\b(?:failed|crash\w*|why|since|log|yesterday|last)\b",
    ),
    rule(
        "value",
        "env var|environment variable|variable",
        r"\b(?:env(?:ironment)? var(?:iable)?|variable|flag|setting|secret|key)\b[^?]{0,40}\b(?:is|called|named|:) ?[\"'`]?[a-z]+_[\w]+",
    ),
    rule(
        "decision",
        "^use |^then use|^so use",
        r"^(?:then |so )?use (?:the|our|your|what|my|a) [^,?]{2,40}, (?:don't|no need|we |it's|that's|no )|^(?:then |so )?use [\w.+#` -]{2,30} for (?:the|this|that|now|it|our) \w+$",
        r"\b(?:everywhere|always|all|never|every)\b",
    ),
    rule(
        "decision",
        "sold|you win|have it your way|you're right|you are right|good call|point taken",
        r"^(?:sold|you win|have it your way|point taken|good call|you(?:'re| are) right)[,.:;!—–-]+ ?(?:we|use|do|make|drop|keep|let's|go|take|remove|split|skip|i)\b",
    ),
    rule(
        "value",
        "^name |^call |^tag |^prefix|^label|^title",
        rf"^(?:name|call|tag|label|title) (?:it|this|that|the (?:[\w-]+ ){{1,4}})\s*[\"'`]?(?:{_CONCRETE}|[a-z]+-[\w-]+)|^prefix (?:[\w-]+ ){{1,5}}with [\"'`]?\w+",
    ),
    rule(
        "value",
        "to |push|publish|deploy|assign|point",
        rf"^(?:everything |all \w+ )?(?:push(?:es)?|publish|deploy|assign|point|send|goes|ship|upload|release)\b[^?]{{0,30}} (?:to|as|into|under|at) [\"'`]?(?:{_CONCRETE})",
        r"\b(?:fails?|failed|error|why)\b",
    ),
    rule(
        "value",
        "set ",
        r"^set (?:the |our )?[\w ._-]{2,40} to [\"'`]?(?:\d|true|false|on\b|off\b|[a-z]+[_/.-]\w+)",
        r"\b(?:title|text|label|page|color|colour)\b",
    ),
)
