package task

import "strings"

// class is what a word is known to be, beside its letters.
type class uint8

const (
	language class = 1 << iota // the name of a human language
	program                    // the name of a programming language
	override                   // ignore, forget ...
	orders                     // instructions, rules ... the object of override
	routing                    // route, forward ...
	sorting                    // classify, switch ... which apps ask for too
	machine                    // router, model ... where routing leads
)

// Words of each class, in the languages people write to us. A name of a
// language is what translations have in common, whichever language it is.
var classWords = []struct {
	class class
	words string
}{
	{language, `english german french spanish italian portuguese russian chinese japanese korean hindi arabic turkish
		dutch polish swedish norwegian danish finnish greek hebrew vietnamese thai indonesian malay czech hungarian
		romanian bulgarian ukrainian serbian croatian slovak swahili persian farsi urdu bengali tamil telugu marathi
		punjabi gujarati latin catalan tagalog filipino mandarin cantonese icelandic estonian latvian lithuanian
		nepali sinhala basque galician welsh irish esperanto
		englisch englische englischen deutsch deutsche franzosisch franzosische spanisch spanische italienisch
		portugiesisch russisch russische chinesisch japanisch koreanisch arabisch turkisch polnisch niederlandisch
		anglais allemand francais espagnol italien portugais russe chinois japonais coreen arabe turc polonais neerlandais
		ingles aleman frances espanol italiano portugues ruso chino japones coreano turco polaco castellano
		английский английском английского немецкий немецком французский французском испанский испанском итальянский
		китайский китайском японский японском русский русском русского корейский арабский арабском португальский турецкий
		अंग्रेजी अंग्रेज़ी हिंदी हिन्दी जर्मन फ्रेंच स्पेनिश चीनी जापानी रूसी अरबी उर्दू संस्कृत तमिल मराठी बंगाली
		الانجليزيه الانكليزيه العربيه الفرنسيه الالمانيه الاسبانيه الروسيه الصينيه اليابانيه التركيه الفارسيه
		영어 영어로 한국어 한국어로 독일어 독일어로 프랑스어 프랑스어로 스페인어 스페인어로 일본어 일본어로 중국어 중국어로 러시아어 아랍어
		英语 英文 中文 汉语 法语 法文 德语 德文 西语 日语 日文 韩语 韩文 俄语 俄文 英語 英譯 独語 仏語 韓国`},
	{program, `python javascript typescript java golang rust kotlin swift scala ruby php perl haskell bash powershell sql
		html css matlab julia lua dart fortran cobol lisp clojure elixir erlang verilog vhdl solidity react vue angular
		django flask numpy pandas pytorch tensorflow docker kubernetes nodejs jquery spring regex sqlite postgresql
		mysql mongodb redis git linux vba excel latex cuda opencv qt unity flutter terraform ansible nginx yaml
		cpp csharp cmake vim neovim awk sed rails laravel graphql
		питон питоне джава пайтон 파이썬 파이썬으로 자바 자바스크립트 पायथन जावा بايثون جافا`},
	{override, `ignore disregard forget override bypass overrule discard skip ignoriere ignorieren vergiss missachte
		ignorez ignore oublie oubliez ignora ignorar olvida olvide игнорируй игнорируйте забудь забудьте
		अनदेखा नजरअंदाज تجاهل انس 무시하고 무시해 무시하세요 忽略 无视 無視 忽视`},
	{orders, `instruction instructions instructed rule rules guideline guidelines directive directives prompt prompts
		previous prior above everything all earlier preceding system router
		anweisungen anweisung regeln obigen vorherigen bisherigen instructions precedentes consignes regles
		instrucciones anteriores reglas инструкции инструкций указания правила предыдущие निर्देशों निर्देश पिछले
		التعليمات السابقه الاوامر 지시 지시를 지침을 명령을 이전 指令 指示 之前 以前 規則`},
	{routing, `route routed rerouted reroute routing forward redirect dispatch escalate leite weiterleiten redirige redirigez
		achemine enruta dirige направь перенаправь маршрутизируй भेजें भेजो रूट وجه حول 라우팅 라우팅해 전달해 路由 转发 转到`},
	{sorting, `classify classified categorize switch klassifiziere classe clasifica классифицируй صنف 분류해 分类`},
	{machine, `router model models category classifier gateway backend endpoint agent cloud queue tier coding math
		reasoning translation summarization extraction creative chat expert modell kategorie modele categorie modelo
		categoria модель модели категорию मॉडल श्रेणी النموذج الفئه 모델로 모델 카테고리 模型 类别`},
}

// classes maps the hash of a word to its class. Few words have one, so a small
// table of marks answers for most.
var classes, classMarks = func() (map[uint64]class, *[4096]bool) {
	m, marks := map[uint64]class{}, new([4096]bool)
	for _, c := range classWords {
		for _, w := range strings.Fields(c.words) {
			h := hashOf(w)
			m[h] |= c.class
			marks[h>>52] = true
		}
	}
	return m, marks
}()

func classOf(hash uint64) class {
	if !classMarks[hash>>52] {
		return 0
	}
	return classes[hash]
}
