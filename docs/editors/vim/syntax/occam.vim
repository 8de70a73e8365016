" occam-pi. The words are those of raddle's scanner.
if exists("b:current_syntax")
  finish
endif
syntax case match
setlocal iskeyword=@,48-57,.
syntax keyword occamType ANY BARRIER BOOL BYTE CHAN INT INT16 INT32 INT64 PORT REAL32 REAL64 TIMER UINT UINT16 UINT32 UINT64 UINT8
syntax keyword occamConstant FALSE MOSTNEG MOSTPOS TRUE
syntax keyword occamOperator AFTER AND BITAND BITNOT BITOR BYTESIN CLONE DEFINED MINUS NOT OFFSETOF OR PLUS
syntax keyword occamOperator REM ROUND SIZE TIMES TRUNC
syntax keyword occamDeclare DATA EXTENDS FUNCTION INITIAL INLINE IS MOBILE OF PACKED PLACE PROC PROTOCOL REC
syntax keyword occamDeclare RECORD RECURSIVE RESHAPES RESULT RETYPES SHARED TYPE VAL VECSPACE WORKSPACE
syntax keyword occamControl ALT ASM AT CASE CLAIM ELSE ENROLL FOR FORK FORKING FROM GUY IF IN PAR PLACED PRI
syntax keyword occamControl PROCESSOR RESIGN SEQ SKIP STEP STOP SUSPEND SYNC VALOF WHILE
syntax match occamComment "--.*$"
syntax match occamDirective "^\s*#[A-Z]\+"
syntax region occamString start=+"+ skip=+\*"+ end=+"+ oneline contains=occamEscape
syntax match occamByte "'\(\*\(#\x\x\|.\)\|[^*']\)'"
syntax match occamEscape "\*\(#\x\x\|.\)" contained
syntax match occamNumber "\<\d\+\(\.\d\+\(E[+-]\d\+\)\?\)\?\>"
syntax match occamNumber "#\x\+\>"
syntax match occamTalk "??\|[?!]\|:="
highlight default link occamType Type
highlight default link occamConstant Constant
highlight default link occamOperator Operator
highlight default link occamDeclare StorageClass
highlight default link occamControl Statement
highlight default link occamComment Comment
highlight default link occamDirective PreProc
highlight default link occamString String
highlight default link occamByte Character
highlight default link occamEscape SpecialChar
highlight default link occamNumber Number
highlight default link occamTalk Operator
let b:current_syntax = "occam"
