"""What words weigh in English. Made by tests/quality/fit_write_ahead.py; do not edit."""

from __future__ import annotations

_NAMES = """\
\t(\t)\t) $\t,\t, $\t, =id\t, =num\t\
, a\t, always\t, and\t, because\t, but\t, do\t, ever\t, for\t\
, i\t, in\t, is\t, it\t, its\t, keep\t, never\t, no\t\
, nobody\t, not\t, one\t, only\t, put\t, so\t, take\t, that\t\
, the\t, then\t, there\t, we\t, what\t, which\t, you\t-ed\t\
-ing\t:\t: $\t: =id\t: no\t: the\t<0>\t<1>\t\
<2>\t<3>\t<4>\t<5>\t<?>\t<HANDED_ON>\t<SUPPOSED>\t<TASK>\t\
<not architecture>\t<not decision>\t<not value>\t=\t= =num\t=id\t=id $\t=id ,\t\
=id and\t=id is\t=id to\t=num\t=num $\t=num ,\t=num in\t=num is\t\
=num on\t=num percent\t=num rows\t@all\t@ban\t@count\t@deed\t@done\t\
@fail\t@give-up\t@here\t@look\t@named\t@never\t@one\t@others\t\
@past\t@quality\t@say\t@settle\t@symptom\t@task\t@weekday\t@weight\t\
@work\t@wrong\t^ =id\t^ =num\t^ a\t^ about\t^ according\t^ after\t\
^ all\t^ anything\t^ as\t^ before\t^ do\t^ everything\t^ feature\t^ for\t\
^ from\t^ go\t^ henceforth\t^ i\t^ if\t^ in\t^ it\t^ keep\t\
^ let\t^ let's\t^ list\t^ looks\t^ my\t^ never\t^ new\t^ no\t\
^ nobody\t^ not\t^ nothing\t^ now\t^ put\t^ release\t^ say\t^ skip\t\
^ small\t^ start\t^ test\t^ that\t^ the\t^ there\t^ they\t^ this\t\
^ use\t^ wait\t^ we\t^ what\t^ with\t^ work\t^ yes>\t^ you\t\
^ your\t^@all\t^@ban\t^@count\t^@deed\t^@done\t^@fail\t^@give-up\t\
^@look\t^@named\t^@never\t^@one\t^@others\t^@past\t^@quality\t^@say\t\
^@settle\t^@symptom\t^@task\t^@work\t^a\t^about\t^according\t^after\t\
^all\t^anything\t^as\t^before\t^do\t^everything\t^feature\t^for\t\
^from\t^go\t^henceforth\t^i\t^if\t^in\t^it\t^keep\t\
^let\t^let's\t^list\t^looks\t^my\t^never\t^new\t^no\t\
^nobody\t^not\t^nothing\t^now\t^put\t^release\t^say\t^skip\t\
^small\t^start\t^test\t^that\t^the\t^there\t^they\t^this\t\
^use\t^wait\t^we\t^what\t^with\t^work\t^yes>\t^you\t\
^your\ta\ta =num\ta new\ta second\ta single\ta small\ta table\t\
about\tabout the\tabove\taccessibility\taccording\taccording to\taccount\tacross\t\
actually\tadd\tadd a\tadmin\tafter\tafter all\tagain\tagainst\t\
against the\tall\tall $\tall of\tall the\talready\talways\tam\t\
an\tand\tand a\tand do\tand i\tand it\tand not\tand the\t\
and then\tand we\tand you\tanimation\tanother\tanswer\tanswers\tany\t\
anything\tanything else\tanything that\tanywhere\tanywhere $\tapi\tapp\tarchive\t\
are\tare forbidden\tare going\tare not\tare the\tas\tas =id\tas a\t\
as well\tas you\tas-is\tas-is $\tasked\tasked for\tasking\tassumed\t\
at\tat =id\tat =num\tat the\taudit\taxis\tb\tback\t\
back $\tbackground\tbackup\tbe\tbe a\tbe finished\tbecause\tbecause of\t\
been\tbefore\tbefore any\tbefore it\tbefore the\tbefore we\tbefore you\tbehind\t\
being\tbetter\tbetween\tbig\tbit\tblocked\tblocking\tboard\t\
booking\tboth\tbottom\tbranch\tbranch for\tbreak\tbreaks\tbroker\t\
bucket\tbug\tbuild\tbuild that\tbus\tbut\tbut the\tbutton\t\
by\tby the\tcache\tcache ,\tcall\tcalled\tcalls\tcan\t\
can not\tcan wait\tcard\tcards\tcards $\tcare\tcase\tcents\t\
change\tchanged\tchangelog\tchannel\tchapter\tcharacters\tchat\tcheckout\t\
ci\tcleanup\tclient\tclose\tcluster\tcode\tcolumn\tcolumns\t\
come\tcomes\tcomes before\tcomes from\tcommit\tcompiler\tcomponent\tcomponents\t\
config\tconnection\tconsole\tcontext\tcontinue\tcore\tcounts\tcrash\t\
cron\tcsv\tcustomers\tcut\tdark\tdata\tdata loss\tdatabase\t\
database $\tdate\tdate $\tday\tday $\tdays\tdays $\tdb\t\
decided\tdecided against\tdecided to\tdefault\tdelete\tdelete the\tdemo\tdependencies\t\
depends\tdepends on\tdeploy\tdescribe\tdescribed\tdesign\tdiagram\tdid\t\
did not\tdifferent\tdo\tdo not\tdo the\tdocs\tdoes\tdoes not\t\
done\tdown\tdrafts\tdrop\tdrop the\tdropping\tdue\teach\t\
earlier\telse\telse $\telse ,\tempty\tend\tendpoint\tendpoints\t\
engine\tenough $\tentry\tenv\tenvironment\terror\terrors\terrors are\t\
evening\tever\tever $\tevery\teverybody\teverything\teverything else\teverywhere\t\
export\texporter\textract\tfailed\tfails\tfast\tfeature\tfeature flag\t\
features\tfeatures $\tfeed\tfew\tfile\tfile ,\tfiles\tfiles $\t\
find\tfine\tfine $\tfinished\tfirmware\tfirst\tfirst $\tfirst ,\t\
first and\tfix\tfixed\tfixed $\tfixes\tflag\tflaky\tflash\t\
folder\tfolder $\tfooter\tfor\tfor a\tfor all\tfor an\tfor each\t\
for now\tfor one\tfor the\tfor this\tforbidden\tforbidden $\tform\tfound\t\
four\tfree\tfriday\tfriday $\tfrom\tfrom =id\tfrom a\tfrom the\t\
front\tfull\tfunctions\tgame\tgateway\tgeneral\tgeneral rule\tget\t\
get to\tgets\tgets a\tgive\tglobal\tgo\tgo through\tgo with\t\
goes\tgoes to\tgoing\tgoing to\tgoing with\tgone\tgood\tgot\t\
graph\tgreen\tgroup\thad\thalf\thand\thappens\thas\t\
has been\thas no\thas not\thave\thave a\thave been\thave no\thave not\t\
he\theader\thelp\there\there $\there ,\thold\tholds\t\
how\thow the\thttp\ti\ti am\ti asked\ti did\ti do\t\
i had\ti have\ti like\ti looked\ti meant\ti need\ti never\ti said\t\
i tried\ti want\ti was\ti would\ti wrote\tid\tidea\tif\t\
if the\tif there\tif we\timages\timport\timport $\timportant\timporter\t\
imports\tin\tin $\tin ,\tin =id\tin a\tin all\tin any\t\
in it\tin mind\tin place\tin the\tin this\tin two\tin utc\tin your\t\
index\tinit\tinput\tinstalled\tinstaller\tinstead\tinstead of\tinto\t\
is\tis $\tis =id\tis =num\tis a\tis at\tis called\tis fine\t\
is how\tis in\tis not\tis off\tis out\tis that\tis the\tis what\t\
it\tit $\tit ,\tit as\tit does\tit for\tit goes\tit in\t\
it is\tit must\tit on\tit says\tit should\tit the\tits\tjob\t\
jobs\tkeep\tkeep the\tkey\tknow\tlabels\tlast\tlast $\t\
last year\tlater\tlater $\tlayer\tlayout\tleave\tleave the\tledger\t\
let\tlet me\tlet's\tlet's go\tlet's say\tlevel\tlicense\tlike\t\
limit\tline\tlist\tlist $\tlist ,\tlistens\tlistens on\tlive\t\
lives\tload\tloader\tloading\tlocal\tlock\tlog\tlogin\t\
logs\tlong\tlook\tlooked\tlooked at\tlooking\tlooks\tloop\t\
loss\tlost\tmade\tmail\tmakes\tmanual\tmap\tmatters\t\
may\tme\tme $\tme ,\tme the\tmean\tmeans\tmeant\t\
meant the\tmeeting\tmemory\tmerge\tmerged\tmessage\tmethod\tmigration\t\
minutes\tmissing\tmistake\tmixed\tmock\tmode\tmodel\tmodel ,\t\
module\tmodules\tmonday\tmoney\tmoney is\tmore\tmore than\tmost\t\
much\tmust\tmust be\tmust go\tmust not\tmust work\tmy\tname\t\
name is\tnames\tneed\tneed it\tneed the\tneeds\tneeds the\tnetwork\t\
never\tnever use\tnew\tnew one\tnext\tnice\tnight\tno\t\
no ,\tno idea\tnobody\tnode\tnot\tnot $\tnot a\tnot add\t\
not sure\tnot the\tnot use\tnot want\tnotes\tnothing\tnothing else\tnow\t\
now $\tnow ,\tnow is\tnumber\tnumbers\tof\tof it\tof our\t\
of the\tof this\toff\toff $\toff the\tok\told\ton\t\
on $\ton =num\ton a\ton it\ton my\ton port\ton the\ton this\t\
once\tone\tone $\tone ,\tone is\tones\tonly\tonly $\t\
only ,\tonly the\topen\topens\toption\tor\torder\torders\t\
other\totherwise\tour\tout\tout $\toutput\toutside\tover\t\
over the\town\tpackage\tpage\tpage $\tpage ,\tpages\tparagraph\t\
parser\tparser $\tpass\tpassed\tpath\tpayment\tper\tpercent\t\
place\tplain\tplan\tpoint\tport\tport =num\tpostgres\tpr\t\
precedence\tprecedence over\tprefer\tpretty\tprinter\tpriority\tpriority and\tproblem\t\
process\tproduct\tproduction\tprofile\tproject\tpublic\tput\tput the\t\
python\tqueries\tquestion\tquestions\tqueue\tquick\tquite\tran\t\
rather\trather have\traw\tread\treading\treads\tready\treason\t\
regarding\trelease\trelease notes\trepo\treport\treport $\trepository\trequest\t\
respect\trest\tretry\treturn\treviewer\tright\tright $\tround\t\
rounding\trow\trows\trule\trule for\trun\truns\truns in\t\
said\tsaid about\tsame\tsandbox\tsave\tsaw\tsay\tsays\t\
scheduler\tschema\tscratch\tscratch what\tscreen\tscript\tsearch\tsecond\t\
seconds\tseconds ,\tsee\tseed\tsend\tsensor\tsequence\tserver\t\
service\tservices\tsession\tsession $\tset\tset up\tsettings\tsettled\t\
ship\tshop\tshorten\tshorter\tshould\tshould be\tshould have\tshown\t\
side\tside $\tsince\tsingle\tskip\tslides\tslow\tsmall\t\
smaller\tso\tso that\tso the\tsome\tsomeone\tsomething\tsound\t\
source\tspaces\tspec\tspeed\tsplit\tsplit the\tspring\tsprint\t\
staging\tstart\tstart with\tstarts\tstarts $\tstate\tstay\tstays\t\
step\tstill\tstop\tstrings\tstuck\tstuff\tsummer\tsunday\t\
sure\tsync\ttable\ttable ,\ttabs\ttag\ttake\ttake the\t\
taken\ttalk\ttalk to\ttalked\ttalks\ttalks to\ttax\tteam\t\
templates\ttenant\ttest\ttests\ttests $\ttext\tthan\tthat\t\
that $\tthat in\tthat is\tthat it\tthat one\tthat the\tthat way\tthe\t\
the =id\tthe admin\tthe app\tthe audit\tthe backup\tthe board\tthe bottom\tthe branch\t\
the bucket\tthe build\tthe button\tthe cache\tthe changelog\tthe chart\tthe code\tthe commit\t\
the core\tthe crash\tthe data\tthe docs\tthe firmware\tthe first\tthe flaky\tthe footer\t\
the import\tthe importer\tthe index\tthe installer\tthe last\tthe list\tthe login\tthe manual\t\
the meeting\tthe memory\tthe new\tthe next\tthe old\tthe one\tthe other\tthe parser\t\
the queue\tthe release\tthe repository\tthe rest\tthe same\tthe sandbox\tthe scheduler\tthe schema\t\
the second\tthe server\tthe session\tthe settings\tthe spec\tthe spring\tthe staging\tthe sync\t\
the table\tthe thing\tthe third\tthe three\tthe ui\tthe whole\tthe wrong\ttheir\t\
them\tthem $\tthem as\ttheme\tthen\tthen $\tthen the\tthere\t\
there $\tthere are\tthere is\tthese\tthey\tthey are\tthing\tthing in\t\
things\tthird\tthis\tthis in\tthis is\tthis release\tthis repo\tthis week\t\
thought\tthought about\tthree\tthrough\tthrough the\tthursday\tticket\ttickets\t\
time\ttime $\ttimes\ttitle\tto\tto =num\tto be\tto do\t\
to drop\tto my\tto the\tto us\tto what\ttoday\ttokenizer\ttomorrow\t\
tomorrow $\ttonight\ttoo\ttoo $\ttool\ttop\ttouch\ttouch the\t\
translate\ttree\ttried\ttwice\ttwo\ttwo $\ttypo\tui\t\
under\tunderstand\tundo\tunit\tuntil\tuntil it\tuntil the\tup\t\
upload\turgent\turgent $\tus\tuse\tuse the\tused\tuser\t\
users\tutc\tvariables\tversion\tversion of\tview\tview $\twait\t\
wait $\twaiting\twant\twant to\twanted\twants\twas\twas asking\t\
way\tway $\twe\twe are\twe can\twe do\twe have\twe keep\t\
we need\twe never\twe ship\twe should\twe will\tweek\tweek $\twell\t\
well $\twent\twere\twhat\twhat i\twhat is\twhat matters\twhat you\t\
whatever\twhen\twhen you\twhenever\twhenever you\twhere\twhere it\twhich\t\
which is\twhile\twhole\twhy\twill\twill be\twill do\twill need\t\
will want\twindows\twith\twith a\twith that\twith the\twithout\twithout it\t\
without the\twizard\twork\twork on\tworker\tworks\tworld\tworries\t\
worth\twould\twould rather\twrite\twrite the\twrites\twritten\twrong\t\
wrote\tyear\tyear $\tyes>\tyesterday\tyet\tyou\tyou add\t\
you are\tyou can\tyou get\tyou have\tyou made\tyou must\tyou put\tyou will\t\
your\tyour question\tyour time\t~,\t~:\t~a\t~all\t~always\t\
~and\t~because\t~both\t~but\t~do\t~ever\t~every\t~fix\t\
~for\t~i\t~if\t~in\t~is\t~it\t~its\t~keep\t\
~look\t~never\t~no\t~nobody\t~not\t~nothing\t~of\t~one\t\
~only\t~our\t~put\t~so\t~that\t~the\t~then\t~there\t\
~they\t~this\t~to\t~we\t~well\t~what\t~where\t~which\t\
~will\t~you\t—"""
# correction, decision, architecture, priority, value; tenths above 128
_VALUES = """
5453505648808180828180807f828180818082818684848780857e848480837f7f82807f7f807f83
7f847d7f808080827f807f7f8080827e8082808183827f807f7f857e81807f7f857f80807e7f7f81
837c7d7f7e7f82828181807f7f7e81857c817e8080807e7f80807f7f808280808480807f8182817f
7f808280808784807f7f7e827e7e80807f8082808180807f8281837f837f817e7f8080817f847f7f
85837e81807f7d7f847f80837f7f8182817f8081817e7f7e80817f808182887e807d818283817d7e
808180837a7f858082847d7c7d817e7f7f7f7f867f80827f8084847f7e807c827c857d8287868384
82878883808383848281807f808380807d81817f7b7d7e7a7d797b78787c7a7a78807e7d777a7b7a
80827f8080807d7e7e807b7d8284787f827f7f828082807f827b7b7e7b977f7e82808e7f7c7e8185
7f82807f8083807f837f81807e807f7c7e7b7894827e7f7e837e817f7d8680807f8082807f7f8283
807f807f82807f807f7e80837f808077798c83817e83887f7f7f827c82797b8382857d7f7f86847d
80817d7f7c7e887b837d7f7d8d7c807b7a80827f827c86818f7e7a937a7b7d867f80827d7e7a827e
867f7b7b7f7c7e7e8c7d877d81737d7f87807f7c807d8381807d81787e7d81827e847e7e7f7e8e7b
808183817e8f7d7e7c7e7f807f837f807f7f827f80827d7d807f827f81807f80807e807f837f7f80
8080827e7f80808182807f7f8380807d7f8181807f7f82818080807e81807f80837f807f81818082
807e7f808080837f7f80808082808082847f7e7e7e82808380817e7f7e7f847f7e7e7e7f7e847f80
83808080807e88807e808080807f828380808380827f7e7f8380808280808080837f7f8482837d7f
807f848080847e7f7e80837f8184807f7e7f7e807f80808480808080828180807d7f808084807f80
8380808080807e807f80807f828080827f80818080817c8284807f807e818680827f83817f82817f
82807f80828280807f807e858480848180808380837e7f7f8080807f7e827e867e7e7f89827d7f80
86807f7f807e7f82807f82827980807f7e7f7c7f7f7c80888081827e7d7f8182807f807e867f807f
80817d7d7f7c7c7e7b8e7f7f85808080827f7e8082817e7e837f7e7e83807f808085807e81807e7e
7d84808280817f8482817d7879797c7f7e82817f80827d7d807f827f81807f80807e807f837f7f80
8080827e7f80808182807f7f8380807d7f8181807f7f82818080807e81807f80837f807f81818082
807e7f808080837f7f80808082808082847f7e7e7e82808380817e7f7e7f847f7e7e7e7f7e847f80
83808080807e88807e808080807f828380808380827f7e7f8380808280808080837f7f8482837d7f
807f848080847e7f7e80837f8184807f7e7f7e807f80808480808080828180807d7f808084807f80
8380808080807e807f80807f828080827f80818080817c8284807f807e818680827f83817f82817f
82807f80828280807f807e858480848180808380837e7f7f8080807f7e827e867e7e7f89827d7f80
86807f7f807b7b83787a808280807f7e8085808080808280807e837f8080827f7f80807f80828080
7f7e7f827e817f7e7f7f847f7f808080808086807f80807e807f80807e807e7f7f7f84807e838080
817e7f7e807e7e857d7f7f8084807f7f82808180808583827e83847f807f7f7e7d807f7f837f8082
7f848080807e7f827d8383837e7f7f8080838080807f8281807f81807f837d7e847f7f79817e7f80
7f817e7c817a84837980807e807f7f80818182807e817f807e7f7f807f8385817f80807c7d807f82
8082807e80808280808082807f80808083817e807e81807e807f827f80807f80807f837e7e84827f
7f7e81848080808083808080847f807f8086808080808580807f7d8181838281827e7e847f818080
82818381838080827f8080827f7f817e827d7e80817f808280817c837e828080808082807f847f80
7f7f8080827d807f80807f877e7f7f7f837f807f837e7f817f877e7f817f857e847f7f83807f8080
80807e7f837f7f7f8084817f807f7b7f7f838281807f80838084807f80807f897f7f80817c7f7e7f
827f807f807f807f7e7f80817f8280818382808283807f808080807f83807f828282837f827f8283
827c7f7e7e7e797a917e80807f848080808082807e7e7e8680807f7f83807d7f808380817f838280
82808080807f7e7f81807f81867e7f857f7f7f7f7f7e7f7f8080827e877f7f80808480827f807e80
807f807e807d86807d7e8081808680817e7f7d87807f807e817e7f7f8080807e8080818080827f83
817f807e82828381847f7f7d7f83808082807f807f7f82808083827f7f7e8380808180837d7f8180
80817e837d817e7f857f827f7d7f8080817d80807e8180827f7e807f7f898380827f807a7e7e8b7f
7f807f878080808085807f7e7f7f807f837f7f808082808080807f80828081807f7f827f8082807f
80817c827f827f82807f808280808082807f7f827e85807f7f82808080808083807f807f807f8481
7f807f8182807f808980817f847d7f8083807f808080837f83807f877e80817f837f7f81827f8080
807f828380817f82857f7f807f83808180847f807f7e807f8280808380807f80838080807f828080
7e7e867e818480807f7f7f7f827f807e7f817f837e80807f80807f87807f837f7f837f807f7f8580
7f817e7f837f8280827f827f8080807e8180817f80848080807e7f7f857d7f8080847e7f837f7f80
80807e7f7f82857f7f80827f807f807e7d7e81807f7f7f8280817d808081807e8080807f80828080
7e887f7f807f84808080807c7f80807f83817e80827f808080827f808080807e80827f807d867f80
807f808380807f808380837c7e83818280827f808380807f7f7f80808381837f8080807e7e807f7f
7d7f807f80857f7f7f7f7c82817f7f7f7e887e807e827d7f7f7f7e808380817f7f7e7e827f7f8080
7c817f82807f7f7e81817f8180828083807f807f837e7f7f808085807f81807f80827e7f7e7f807f
817f7f827f7f7e83877f807f8680808080807e807f827f7f80827e8283808082807e7f8080828080
8480827f807f828080807e7f7f7f7f8080838080807f8380818085817e7e807f8280807f80838080
807f7f7e807e7e897e7f7f7f857f807e80877c7f7f7f8082807f7e82837f7f807d8480807f84807f
7f8480827e81817f8280808280808080847f7f8081837f80817f7f8082807f83817f8080827e8081
807f808480807f80858081837f807f7f828081807e80817c817f808280817f7e857e7f8080828080
7e7f7f80807f837f7e7e7e82807f7f7f7f7f82807f8082807e7c827d8680807d8082807f7f808680
7f8280818083807e837f83857f8280828380808080808281808184807f808082808380827f808080
7f817f7e7f80827f808080808082807a83848385817d7d807f7f7e837f82807d817f808080827f80
80847f7f80837f80808079867b84857f877b7f828080847f808080827f807f8280817f7f7e807f80
7f7e7f807f7f7f848080817e7e817f7f80807e80867c867c7e838082807f80808480807a827c7d80
7f7f83847f7f7e827f7f7f81867f807f7f807e7f7f827f7f80807f857f80807f838080808282827f
80807f81837e8a837e7f80828080807f7e7f7f807f80828080818580807f807f827f808085828180
7f8b82837d7f818082807d8a7e7d817e827e7e828084807f80807e808080807f7f7e7f817e7f7f7f
7e80808080807f7f8284817f817e807d7e7f80807f7e80817f7f7f838083867f817f80837b7f7d7e
808080827f82808180807e80807f8081847e7f807e7e7f8080857d807f7f7f7e8080807e7e808080
7f7f807e807f80807e807f7f80817e7e83877e7f817e8080817f84817f80827f807f7f7f7f838182
7a7e7f7d7f807f7e7f807f808680808b7f797a7c7a827e7f80837f808080827f8080808281808080
7d808080807a828080807e7e7f80807e80808080847f8080807f807f8380867f7f8080857f808080
7e7f808080807f828080857f807f807f847f817f877f8080807f7e7f7d837f807e7e807e817f8480
807f7f82817f8080857e807e807f807f828082828381837f7f7f81827e807f8080837f81807e8280
7e7e81817f847e897a7e7f838282808082808080807f7f7f7c7f807e7f8080808280807f80828080
817e7f80807f7f807f8280807f8280807e837e7d858581807e7f827f7f807f808280808280807f80
837e7f807e807f82808180828180807f80808280807f8082808485807f7f8385807f7f7e81807f80
847e7c888e7f8c807f807b7f7d7e897f7f7f7f89807e81807e7f7f807f7e7f7f7f7d898083807f7f
808082807f817e7e807f877f7f7f7f8580827f807f82807f7f7f81808280847b8186817e7f7f837f
7f857c7d817c7e82877d82807f7f80828080808084807f8080807f807e817e7f8181807f807e7e81
87867f7e7e7f80827f808182807f7f828080807f7f808080828382807f807f807e7d817e827e827d
81808080838381877e827f85817f7f807f7f80827e7e847f82837f807e807f7e7f807f7f82808380
827f8080807e7d8486857f8080847f7e81877f807f817f847f7e827f817f7f8280837f837f818080
828082808082808280807e8a7f7e7f8081827f807f7d808080808083847e807f7f82827c7f7e7e7f
837f7f807e817e7f7e7f817e7e818180808082807f807f84807f7f7f7f847f7f7f7f847f82827f80
7f7f837f827f828082807f8180828080807f828081808280807f828082817f807e7f80807e7f8380
837f807f807d81807d7f7f7e7f7e827e7f807f807e808080807f7e808080807e7e83808183807f80
80807f837e7f8080847f80837f7f7f7f817f827f7f7f8084807f80827f7f7f818082807e807f8680
7f7f847f807b7d7e7d7c7e7f7f7e807e8381807f7e7f807f8083807f808082807c8080897e807f80
867e8080807f83807f80807f7f827e80807d80807e7e7f8180817e7f7f8081808280807f817f847f
7f7d7f7f7f7f807f827f8380808080847f807f807f837f81818280807f808186817f7f7f85817f80
7f827e8080807e817f807f7f8280807f7f82828080808280807e817f857f80827f82807e7e7f877e
7d807e7d80807b8b8580867f80847f7f7f8082807e80877f808080847f7f7f7e7a7b857e81817e84
80808280807f838280807b7d7d83877f7f807f827f7f7f8581807f848180817f7f827f7f7f837f81
827e867e7e80807e80807d7a868180807f837f807e827f81807e808080807f807e7f818484877c7e
87807e7f817f7e7f7f807d7f858080807f7f80848980837a7a7f7e7f7f8083807f8080807f848080
7e80808080857f807f80807e82808083808180807f7f7f837f827c86847f807f8281807d7f7e887d
808280807f807f7f847f7f8080848080817f817e827e7f82807d7e857d7f807f7f827f807f848080
7e7d807d8082807f8080827e827c7f837f807f7f8080827e807f7f7f7e8081847f7d807c8082838a
7f7d7f8082807f808084808280827f80828080807f7f7e7f827f80807f827a807e82818080828180
7e80817f81847f817d8283807e80808183817f82807e80808183827f7f8083808b827e7f83807e80
7f82817f7f807f8480807f817f827f7f8580817f7f857f7f807e808180807f7e7e8c81807f808280
827e7e7f7f83808080827d7e89807f8084807f7e83817f80807f7f7f7e7f80808280807e82828382
7f827f81807f82837f7f7f7f837f817d837f80817f847f7f807f817f848085827f7f80827f807f80
807f82807f84807f8180827f7d7f7f807f848080827f818180807f81838082807e7e7e807f807f7e
80807f82827f87827f7f7f84807f80837f8081817f7f7e7e82807f7f7e83817f8280837f82808180
807f7f8480807f7f84807e848380807f837f838080808083807d7f7f897f8080807e80807e7f8080
8080837f807f817e82818280808080807f8082807f7e7f7f808182857f80837e828381817f808580
8081837f7f7f7e81808080827f807f807e80808084817e80807f7f807e8083807f7f80807f807e7f
7f868080807f86807f807f7f837f807f83817f80827f807f807d7f8280807e7f808082807e828080
80827f7f7f80807d848180808084807e7e807e807f847e847e80807f82807f7f857e7f817f817e80
81808380807f81827f8083827f7f7f80828280807f80807f83817f7e828080808082807f817d7f80
808080837f80817f827f80867f7e80807f857f7f8080827f7f82807e8180827e8080828280818080
8a7f7e7e7f8280807f80807d807e81837f7f7f8383847f80807e80808080847d7e7e81807f7e7e7e
827f817f807e7e818580828080808082808080807f827f7f7f7f7e837f84808180827f7e807f807f
80827d7f8180837d80807f7e807f7f8080817f82807f8080828681807f8080808083807f80827c80
7e7f807e81807e857f80807f8380808080838081817f817f867e807f80807f81837f7f7f85808080
8082817e80817f80808382808080808381808080857b827d7f81807f7e80847f7f807f7e7f7f7f80
7e86837f7f80857f8180807f7f7d8080837f80808082807f80817f808380817e7f80808481847e7f
848380807f817e7f82807f7f82818083817f807f7f7e7f7d7e807f7d80807e7f808080808080847e
7f7f827f80837e7f8080827f808080807f8082807f847f7f807f867f808080827f7f80807f80847f
7f827f7e81817b7f847f807c817f8080827f847f80807f84807f7f847f7f7f80887f7e7f8683817e
7f7e7f7f80837c7f7d7f7f81827f808080847f80807c7f8680807f8082818082807e8083847f8180
7e7f8080807f7f7f8280818480817d82827f7f7f827f7f7f80807f807e828084817f7f7f83808080
81808080827f7f8380807f8083808082837f807f80808480808080848080827f80867f837e7d8380
817f807f827f81807e817e7e8181827f7e7e7c7f8280807f808081807e7f7d8180847f7e7d828481
80827f81817f7f817f838380847a7e7d7f807f808080808480817f7f7e808080827f8086857d8482
7f8080817d7f828081807f827f7f7f807f8083808081808280827f807f808081808680837f807f81
7f7f807f827f7e7f8381847f7f7f80827e7f80808082808080808080828080807e80808080808082
807f87807f807f8082807f807f857e7f7e8184807f7f83807e7f827f7b7f80828083808080808280
84807f807f81807f8280837f7f7f7e807f8082807e7e7f7f7f7f7f7f837f7f7f8083807f80827f7f
7f83807f80807f80847e7e7d7d81817e837f7e8281857f7d8182807f8281837e7f7e7f817f82817f
807f8082817f7e8081807f7f82807f807f8280807f7e807e82807f807f83827f817f807f7f808280
7f807f7c7f8181807e7f807f8280807f82807f80827f80808080827f7f807e827f7f807f7f7f8280
808381827f817f80827f8280807f7f7e83808080807f8184807f7f82847f827f807f807f7e808180
817c837c7f7f7f837f8084807f80807f847f847f7e8a7d867e80867f837f80818084807d817b8384
7e837f827f80817f7f837f7f7f827f807f8080828580827e8287837f8083817d7f857e8080807e80
827f81807f827f817e7f7e85808180807e8080807f7e7e7f8580827e7f807f7e817f7f7f7f7f8680
7e827f807f7f827f808080847e807f7f7e837e7f7e7e837e7f817f8082807f7f7e83807f7f7e8280
7c7f80847c7f817f807e7f82817f807f82808080827b837c81817f7e8081807e8382807e817f8080
817d807f80828080807f8081858082808081838084807f807f7f7e7f87807f7f80847f80807d817f
80807d80807f7f808480807e807e7f7e80807f8081828280807f7f7f83807f817f83807f81828480
7f82808080807e8280807e7e808080807f8280807f81817c838080848082808080817e7f7f818480
7f7f807e847e807e808082808080807e7f80807f7e837d8d80807e8082807f827f82807f807f8084
7f838080817f807f867f80818084807e7f808481807c7f7e827f837d7f7f827f7e7f7f7f7f817e82
807e80807f8080827f7f807f8380807f847f7e828082808080807f8381807f80808280827f7f857f
8080808380807e7f80807d7c847f817d8080808082808080807f80807f82847c7d7c7e8580808080
7e80848080807e807f807c8c847e837f867a7f81807e7f83807f7d867f7f807e807f7f8082808080
807e7f8183807e8280808081827f807f7d8580807f847d7f807f7e7f87807f7f7f83807f7e807f81
7f7f8080827e7f7f7e80847f7f7e7e817a7b827d857f7f7f807f7f807e80807f808280837f7f817f
7f7f847f807c7c7e7d817e7f7f80837f7f847f837f8084808381827e7f8082808080807f7d818081
8080808280817f8383807f7f81847f7d7e7e7e8076897b7a837e85817e8380817e7f807f7f807f82
7e7e7f80828082807f807b877e7d7f817e807f807f7f7f83807f837e7e7e7e8283827f807b7f8680
7f857f7e8080847f7f807e81828782807f827d828781807f807e7f80807f7f81807e7f7e7f808280
7f82807f807d807c7f807f868080807d80857e827f7f8080837f80848080807f828080867e7f7e7f
857e7f7f7f827d807f80807e8080807e867e7e7f7e7f8080807e7e808080907b7f7b877f8088807f
7f7e7f84807b7f7f808180807f80838580808080827f7f80807e807f7f85838080807f7b7e7f7f82
87827c7b8080827f807f7f7e80808080828081807f847f80807f83827e7f7f817f7f837f80827f80
7f7e8081827e808280817e83807f7f83827f807f7e857e81807f7f857f808081837f7f82807f8080
7f7f7f8281807d7e7e7c817f80827d7e80828081807f807e81837981818380807d7f8080827f8082
82808080817f7f8480807d8685807f7f808280808c857f7e7f807f827e807f827f82837e837e7e7e
807e8085808180807e81817f7f7f8281827f837e807f87807e88837d817f7f7f7f827f7f837f7f81
7f7e807f7f7f7f807e82818280808080887e7e81817f807f82817d7f7e7f837f7f807f807e808181
807f82807f8a7d7f7d818180827f80
"""
_PLACES = _NAMES.split("\t")
WEIGHTS = dict(zip(_PLACES, range(0, 5 * len(_PLACES), 5), strict=True)), bytes.fromhex(_VALUES)
