//! Owns: the one table of instructions.
//! May use: nothing.
//! Never: a fact about an instruction that stands anywhere else too.
//!
//! A row is `Variant = number mnemonic form [a b c] effect, "what it does"`. The form says what the fields hold (see
//! [`Form`](crate::Form)); `[a b c]` says how many frame slots each field that names a slot covers from there on, so
//! that the verifier knows the last one touched (`0`: the field names no slot). The [effect](crate::Effect) says what
//! else it may do: what it writes, where it goes on, whom it waits for. From this table derive the type `Op`, the
//! builder's methods, the decoder, the verifier, the report of a deadlock, the names in listings and traces, and the
//! list in `FORMAT.md`.
//!
//! The number is what stands in a file. It keeps its meaning: a new instruction takes a number that is free, and one
//! that goes leaves a gap. Whoever gives a number another meaning raises [`NUMBERING`], so that files that use the old
//! one are refused. A test compares with the list in `FORMAT.md`.
//!
//! Suffixes: none or `w` 32-bit, `l` 64-bit, `h` 16-bit, `b` 8-bit, `f` REAL32, `d` REAL64, `i` a constant in the
//! instruction, `r` a register (slot) where the plain form has a constant.

/// Which meaning the numbers of instructions have: files say which one they use, and are refused if it is another one.
pub const NUMBERING: u32 = 1;

/// Hands every row of the table to the macro named.
#[macro_export]
macro_rules! for_each_op {
    ($macro:ident) => {
        $macro! {
            // Moving values between slots.
            Nop = 0 nop none [0 0 0] Nothing, "nothing";
            Mov = 1 mov ab [1 1 0] Set(Same), "a := b";
            MovL = 2 mov_l ab [2 2 0] Set(Unknown), "a := b, 64 bits";
            Ldi = 3 ldi ai [1 0 0] Set(Constant), "a := imm";
            LdiL = 4 ldi_l ai [2 0 0] Set(Unknown), "a := imm, sign-extended to 64 bits";
            Pool = 5 pool ai [2 0 0] Set(Unknown), "a := the 64-bit constant number imm";
            Addr = 6 addr ai [1 0 0] Set(FrameAddress), "a := the address of this frame + imm bytes";
            Data = 7 data ai [1 0 0] Set(DataAddress), "a := the address of the constant data + imm bytes";
            Zero = 8 zero ai [1 0 0] Clear, "imm bytes of the frame, from slot a on, := 0";
            // INT32. The checked ones trap on overflow.
            Add = 9 add abc [1 1 1] Set(Sum(Slot)), "a := b + c, checked";
            Sub = 10 sub abc [1 1 1] Set(Difference), "a := b - c, checked";
            Mul = 11 mul abc [1 1 1] Set(Product(Slot)), "a := b * c, checked";
            Div = 12 div abc [1 1 1] Set(Quotient), "a := b / c, checked";
            Rem = 13 rem abc [1 1 1] Set(Remainder), "a := b \\ c, checked";
            Neg = 14 neg ab [1 1 0] Set(Negative), "a := -b, checked";
            AddI = 15 add_i abi [1 1 0] Set(Sum(Imm)), "a := b + imm, checked";
            MulI = 16 mul_i abi [1 1 0] Set(Product(Imm)), "a := b * imm, checked";
            Plus = 17 plus abc [1 1 1] Set(Sum(Slot)), "a := b PLUS c, wrapping";
            Minus = 18 minus abc [1 1 1] Set(Difference), "a := b MINUS c, wrapping";
            Times = 19 times abc [1 1 1] Set(Product(Slot)), "a := b TIMES c, wrapping";
            PlusI = 20 plus_i abi [1 1 0] Set(Sum(Imm)), "a := b PLUS imm, wrapping";
            And = 21 and abc [1 1 1] Set(And(Slot)), "a := b /\\ c";
            Or = 22 or abc [1 1 1] Set(Or), "a := b \\/ c";
            Xor = 23 xor abc [1 1 1] Set(Xor), "a := b >< c";
            AndI = 24 and_i abi [1 1 0] Set(And(Imm)), "a := b /\\ imm, sign-extended";
            Not = 25 not ab [1 1 0] Set(Not), "a := ~b";
            Shl = 26 shl abc [1 1 1] Set(ShiftLeft), "a := b << c; traps unless 0 <= c <= 32";
            Shr = 27 shr abc [1 1 1] Set(ShiftRight), "a := b >> c, zeros shifted in; traps unless 0 <= c <= 32";
            Eq = 28 eq abc [1 1 1] Set(Compare(Equal, Slot)), "a := b = c";
            Ne = 29 ne abc [1 1 1] Set(Compare(NotEqual, Slot)), "a := b <> c";
            Lt = 30 lt abc [1 1 1] Set(Compare(Less, Slot)), "a := b < c";
            Le = 31 le abc [1 1 1] Set(Compare(LessEqual, Slot)), "a := b <= c";
            EqI = 32 eq_i abi [1 1 0] Set(Compare(Equal, Imm)), "a := b = imm";
            LtI = 33 lt_i abi [1 1 0] Set(Compare(Less, Imm)), "a := b < imm";
            After = 34 after abc [1 1 1] Set(Unknown), "a := b AFTER c";
            NotBool = 35 not_bool ab [1 1 0] Set(Invert), "a := NOT b";
            WrapH = 36 wrap_h ab [1 1 0] Set(Narrow(Half)), "a := the low 16 bits of b, sign-extended";
            WrapB = 37 wrap_b ab [1 1 0] Set(Narrow(Byte)), "a := the low 8 bits of b";
            ChkH = 38 chk_h ab [1 1 0] Set(Narrow(Half)), "a := b; traps if it is no INT16";
            ChkB = 39 chk_b ab [1 1 0] Set(AtMost(255)), "a := b; traps if it is no BYTE";
            ChkBool = 40 chk_bool ab [1 1 0] Set(AtMost(1)), "a := b; traps if it is neither 0 nor 1";
            ChkShift = 41 chk_shift ai [1 0 0] Nothing, "traps unless 0 <= a <= imm";
            // INT64.
            AddL = 42 add_l abc [2 2 2] Set(Unknown), "a := b + c, checked";
            SubL = 43 sub_l abc [2 2 2] Set(Unknown), "a := b - c, checked";
            MulL = 44 mul_l abc [2 2 2] Set(Unknown), "a := b * c, checked";
            DivL = 45 div_l abc [2 2 2] Set(Unknown), "a := b / c, checked";
            RemL = 46 rem_l abc [2 2 2] Set(Unknown), "a := b \\ c, checked";
            NegL = 47 neg_l ab [2 2 0] Set(Unknown), "a := -b, checked";
            PlusL = 48 plus_l abc [2 2 2] Set(Unknown), "a := b PLUS c, wrapping";
            MinusL = 49 minus_l abc [2 2 2] Set(Unknown), "a := b MINUS c, wrapping";
            TimesL = 50 times_l abc [2 2 2] Set(Unknown), "a := b TIMES c, wrapping";
            AndL = 51 and_l abc [2 2 2] Set(Unknown), "a := b /\\ c";
            OrL = 52 or_l abc [2 2 2] Set(Unknown), "a := b \\/ c";
            XorL = 53 xor_l abc [2 2 2] Set(Unknown), "a := b >< c";
            NotL = 54 not_l ab [2 2 0] Set(Unknown), "a := ~b";
            ShlL = 55 shl_l abc [2 2 1] Set(Unknown), "a := b << c; traps unless 0 <= c <= 64";
            ShrL = 56 shr_l abc [2 2 1] Set(Unknown), "a := b >> c, zeros shifted in; traps unless 0 <= c <= 64";
            EqL = 57 eq_l abc [1 2 2] Set(Unknown), "a := b = c";
            NeL = 58 ne_l abc [1 2 2] Set(Unknown), "a := b <> c";
            LtL = 59 lt_l abc [1 2 2] Set(Unknown), "a := b < c";
            LeL = 60 le_l abc [1 2 2] Set(Unknown), "a := b <= c";
            AfterL = 61 after_l abc [1 2 2] Set(Unknown), "a := b AFTER c";
            // REAL32 and REAL64: IEEE 754; infinities and NaNs are values, of which `chk_f` and `chk_d` complain.
            AddF = 62 add_f abc [1 1 1] Set(Unknown), "a := b + c";
            SubF = 63 sub_f abc [1 1 1] Set(Unknown), "a := b - c";
            MulF = 64 mul_f abc [1 1 1] Set(Unknown), "a := b * c";
            DivF = 65 div_f abc [1 1 1] Set(Unknown), "a := b / c";
            RemF = 66 rem_f abc [1 1 1] Set(Unknown), "a := b \\ c, IEEE remainder";
            NegF = 67 neg_f ab [1 1 0] Set(Unknown), "a := -b";
            EqF = 68 eq_f abc [1 1 1] Set(Unknown), "a := b = c";
            NeF = 69 ne_f abc [1 1 1] Set(Unknown), "a := b <> c";
            LtF = 70 lt_f abc [1 1 1] Set(Unknown), "a := b < c";
            LeF = 71 le_f abc [1 1 1] Set(Unknown), "a := b <= c";
            AddD = 72 add_d abc [2 2 2] Set(Unknown), "a := b + c";
            SubD = 73 sub_d abc [2 2 2] Set(Unknown), "a := b - c";
            MulD = 74 mul_d abc [2 2 2] Set(Unknown), "a := b * c";
            DivD = 75 div_d abc [2 2 2] Set(Unknown), "a := b / c";
            RemD = 76 rem_d abc [2 2 2] Set(Unknown), "a := b \\ c, IEEE remainder";
            NegD = 77 neg_d ab [2 2 0] Set(Unknown), "a := -b";
            EqD = 78 eq_d abc [1 2 2] Set(Unknown), "a := b = c";
            NeD = 79 ne_d abc [1 2 2] Set(Unknown), "a := b <> c";
            LtD = 80 lt_d abc [1 2 2] Set(Unknown), "a := b < c";
            LeD = 81 le_d abc [1 2 2] Set(Unknown), "a := b <= c";
            FnF = 82 fn_f abi [1 1 0] Set(Unknown), "a := function imm of b (see `Real`)";
            FnD = 83 fn_d abi [2 2 0] Set(Unknown), "a := function imm of b (see `Real`)";
            // Conversions. imm: 0 rounds to nearest even, 1 truncates; traps where the value does not fit.
            WtoL = 84 w_to_l ab [2 1 0] Set(Unknown), "INT32 to INT64";
            LtoW = 85 l_to_w ab [1 2 0] Set(Unknown), "INT64 to INT32, checked";
            WtoF = 86 w_to_f abi [1 1 0] Set(Unknown), "INT32 to REAL32";
            WtoD = 87 w_to_d ab [2 1 0] Set(Unknown), "INT32 to REAL64";
            LtoF = 88 l_to_f abi [1 2 0] Set(Unknown), "INT64 to REAL32";
            LtoD = 89 l_to_d abi [2 2 0] Set(Unknown), "INT64 to REAL64";
            FtoW = 90 f_to_w abi [1 1 0] Set(Unknown), "REAL32 to INT32, checked";
            FtoL = 91 f_to_l abi [2 1 0] Set(Unknown), "REAL32 to INT64, checked";
            DtoW = 92 d_to_w abi [1 2 0] Set(Unknown), "REAL64 to INT32, checked";
            DtoL = 93 d_to_l abi [2 2 0] Set(Unknown), "REAL64 to INT64, checked";
            FtoD = 94 f_to_d ab [2 1 0] Set(Unknown), "REAL32 to REAL64";
            DtoF = 95 d_to_f abi [1 2 0] Set(Unknown), "REAL64 to REAL32, checked";
            Long = 96 long ai [8 0 0] Set(Unknown), "predefined routine imm on slots a.. (see `Long`)";
            // Memory by address. A slot holds the address; every access stays within the machine's memory or traps.
            LdrB = 97 ldr_b abi [1 1 0] Set(Load(Offset, Byte)), "a := the byte at address b + imm (0 to 65535)";
            LdrH = 98 ldr_h abi [1 1 0] Set(Load(Offset, Half)), "a := the INT16 at b + imm";
            LdrW = 99 ldr_w abi [1 1 0] Set(Load(Offset, Word)), "a := the word at b + imm";
            LdrL = 100 ldr_l abi [2 1 0] Set(Load(Offset, Long)), "a := the 64 bits at b + imm";
            StrB = 101 str_b abi [1 1 0] Store(Offset, Byte), "byte at b + imm := a";
            StrH = 102 str_h abi [1 1 0] Store(Offset, Half), "INT16 at b + imm := a";
            StrW = 103 str_w abi [1 1 0] Store(Offset, Word), "word at b + imm := a";
            StrL = 104 str_l abi [2 1 0] Store(Offset, Long), "64 bits at b + imm := a";
            // Arrays. b, b + 1 hold address and count of elements; c the subscript, checked.
            AldB = 105 ald_b abc [1 2 1] Set(Load(Element, Byte)), "a := element c of b, bytes";
            AldH = 106 ald_h abc [1 2 1] Set(Load(Element, Half)), "a := element c of b, INT16";
            AldW = 107 ald_w abc [1 2 1] Set(Load(Element, Word)), "a := element c of b, 32 bits";
            AldL = 108 ald_l abc [2 2 1] Set(Load(Element, Long)), "a := element c of b, 64 bits";
            AstB = 109 ast_b abc [1 2 1] Store(Element, Byte), "element c of b := a, bytes";
            AstH = 110 ast_h abc [1 2 1] Store(Element, Half), "element c of b := a, INT16";
            AstW = 111 ast_w abc [1 2 1] Store(Element, Word), "element c of b := a, 32 bits";
            AstL = 112 ast_l abc [2 2 1] Store(Element, Long), "element c of b := a, 64 bits";
            Elem = 113 elem abc [1 2 1] Set(ElementAddress), "a := address of element c of b; a was its bytes";
            Flat = 114 flat abc [1 1 1] Set(Subscript), "a := a * c + b; traps unless 0 <= b < c (further dimensions)";
            Chk = 115 chk ab [1 1 0] Check(Below(Slot)), "traps unless 0 <= a < b (a subscript)";
            ChkI = 116 chk_i ai [1 0 0] Check(Below(Imm)), "traps unless 0 <= a < imm (a subscript)";
            ChkSlice = 117 chk_slice abc [1 1 1] Check(Slice), "traps unless [FROM a FOR b] lies within c elements";
            ChkSize = 118 chk_size ab [1 1 0] Nothing, "traps unless a = b (sizes of arrays)";
            ChkCount = 119 chk_count a [1 0 0] Check(NotNegative), "traps if a < 0 (a replicator's count)";
            Copy = 120 copy abc [1 1 1] Copy(Slot), "copies c bytes from address b to address a; they may overlap";
            CopyI = 121 copy_i abi [1 1 0] Copy(Imm), "copies imm bytes (0 to 65535) from address b to address a";
            Fill = 122 fill abc [1 1 1] Fill, "b bytes from address a on := c";
            Cmp = 123 cmp abc [1 1 1] Set(Unknown), "a := a bytes at address b equal those at c";
            // Memory from the heap: zeroed.
            Alloc = 124 alloc ab [1 1 0] Allocate(Slot), "a := address of b fresh bytes";
            AllocI = 125 alloc_i ai [1 0 0] Allocate(Imm), "a := address of imm fresh bytes";
            Free = 126 free a [1 0 0] Free, "gives back what alloc gave; 0 is ignored; a := 0";
            Inc = 127 inc ab [1 1 0] Count, "atomically: word at address b + 1; a := the new value";
            Dec = 128 dec ab [1 1 0] Count, "atomically: word at address b - 1; a := the new value";
            // Control. Jumps are relative; a jump backwards is where a process may be preempted.
            Jump = 129 jump l [0 0 0] Jump, "goes to the label";
            Jz = 130 jz al [1 0 0] JumpIf(Equal, Zero), "goes there if a = 0";
            Jnz = 131 jnz al [1 0 0] JumpIf(NotEqual, Zero), "goes there if a <> 0";
            Jeq = 132 jeq abl [1 1 0] JumpIf(Equal, Slot), "goes there if a = b";
            Jne = 133 jne abl [1 1 0] JumpIf(NotEqual, Slot), "goes there if a <> b";
            Jlt = 134 jlt abl [1 1 0] JumpIf(Less, Slot), "goes there if a < b";
            Jle = 135 jle abl [1 1 0] JumpIf(LessEqual, Slot), "goes there if a <= b";
            JeqI = 136 jeq_i ail [1 0 0] JumpIf(Equal, Imm), "goes there if a = imm";
            JneI = 137 jne_i ail [1 0 0] JumpIf(NotEqual, Imm), "goes there if a <> imm";
            JltI = 138 jlt_i ail [1 0 0] JumpIf(Less, Imm), "goes there if a < imm";
            JgeI = 139 jge_i ail [1 0 0] JumpIf(GreaterEqual, Imm), "goes there if a >= imm";
            Repeat = 140 repeat abl [1 1 0] Repeat, "a := a PLUS 1; b := b - 1; jumps if b > 0";
            RepeatStep = 141 repeat_step abl [1 2 0] RepeatStep, "a := a PLUS slot b + 1; b := b - 1; jumps if b > 0";
            Switch = 142 switch ai [1 0 0] Switch, "goes to jump a of the imm + 1 that follow; the last is for others";
            Call = 143 call site [0 0 0] Call, "calls; the callee's slot 0 is the caller's slot base";
            Frame = 144 frame ai [1 0 0] NewFrame, "a := address of a fresh frame for function imm, for calld";
            CallD = 145 calld asite [1 0 0] CallAt, "calls in the frame at address a; it is freed by the return";
            Ret = 146 ret none [0 0 0] Return, "returns";
            // Processes.
            Par = 147 par ai [1 0 0] Set(Unknown), "opens a PAR of imm + 1: a counts; imm forks and the join follow";
            Fork = 148 fork al [1 0 0] Fork, "a new process, in the same frame, begins at the label";
            Join = 149 join a [1 0 0] Join, "waits until all forked by the PAR of slot a have ended";
            ForkN = 150 forkn ai [6 0 0] ForkMany, "processes of function imm: a.. = 0, base, count, step, 0, 0";
            JoinN = 151 joinn a [6 0 0] JoinMany, "waits until all of that forkn have ended";
            End = 152 end none [0 0 0] End, "this process ends";
            Out = 153 output abi [1 1 0] Send(Frame), "to the channel at address a: imm bytes from slot b on";
            In = 154 input abi [1 1 0] Receive(Frame), "from the channel at address a: imm bytes to slot b on";
            OutM = 155 output_m abc [1 1 1] Send(Memory), "to the channel at address a: c bytes at address b";
            InM = 156 input_m abc [1 1 1] Receive(Memory), "from the channel at address a: c bytes to address b";
            Alt = 157 alt a [6 0 0] AltOpen, "opens an ALT: slots a.. = chosen, last chosen, state";
            EnC = 158 enc ab [1 6 0] AltGuard, "ALT b waits for the channel at address a, too";
            EnT = 159 ent ab [1 6 0] AltGuard, "ALT b waits until after time a, too";
            EnS = 160 ens a [6 0 0] AltOpen, "ALT a has a SKIP";
            AltW = 161 altw a [6 0 0] AltWait, "waits until one is ready; traps if none is enabled";
            DisC = 162 disc abi [1 6 0] AltChannel, "waits for channel a no more; imm is chosen if ready, and by order";
            DisT = 163 dist abi [1 6 0] AltGuard, "the same for time a";
            DisS = 164 diss abi [0 6 0] AltGuard, "the same for a SKIP (a is not used)";
            DisCR = 165 disc_r abc [1 6 1] AltChannel, "as disc; the number stands in slot c";
            DisTR = 166 dist_r abc [1 6 1] AltGuard, "as dist; the number stands in slot c";
            DisSR = 167 diss_r abc [0 6 1] AltGuard, "as diss; the number stands in slot c";
            AltE = 168 alte al [6 0 0] AltClose, "closes the ALT: a is the number chosen, or goes to open it again";
            Time = 169 time a [1 0 0] Set(Unknown), "a := the time in microseconds, wrapping";
            Wait = 170 wait a [1 0 0] Sleep, "waits until after time a";
            Claim = 171 claim a [1 0 0] Claim, "waits for the lock word at address a";
            Unclaim = 172 release a [1 0 0] Unclaim, "gives the lock word at address a back";
            Resched = 173 resched none [0 0 0] Yield, "lets others run";
            Host = 174 host ai [4 0 0] CallHost, "call number imm to the host, on slots a..";
            Stop = 175 stop none [0 0 0] Fault, "STOP";
            Trap = 176 trap i [0 0 0] Fault, "run-time error number imm (see `Trap`)";
            // Debug builds: what `#PRAGMA SHARED` and PERMITALIASES let through is looked at. Else they do nothing.
            Watch = 177 watch ai [2 0 0] Set(Unknown), "looks from now on at a + 1 bytes at a, entry imm; a := 0 if so";
            Unwatch = 178 unwatch a [1 0 0] Nothing, "what begins at address a is looked at no more; 0 is ignored";
            // For languages in which an infinity or a NaN is no result.
            ChkF = 179 chk_f a [1 0 0] Nothing, "traps unless a is finite";
            ChkD = 180 chk_d a [2 0 0] Nothing, "traps unless a is finite";
            // Forked processes. Each has a frame from the heap, and outlives the call in which it began.
            Forking = 181 forking a [2 0 0] Set(Unknown), "opens a block of forks: a counts, a + 1 is this process";
            Spawn = 182 spawn ai [2 0 0] Spawn, "a process of function imm: a is its frame, a + 1 the block's address";
            JoinF = 183 joinf a [2 0 0] JoinForked, "waits until all forked in the block of slot a have ended";
            EndF = 184 endf none [0 0 0] End, "this process ends, and gives back its frame";
            // Barriers: three words, the members, how many of them have not come, and who came last.
            Sync = 185 sync a [1 0 0] Sync, "waits until all members of the barrier at address a have come";
            Enroll = 186 enroll ab [1 1 0] Enroll, "the barrier at address a has b members more";
            Resign = 187 resign a [1 0 0] Resign, "the barrier at address a has one member less";
            // The extended rendezvous: who outputs goes on when the input's process has ended.
            InX = 188 input_x abi [1 1 0] Receive(Frame), "as input; who outputs waits on, until xend";
            InXM = 189 input_xm abc [1 1 1] Receive(Memory), "as input_m; who outputs waits on, until xend";
            XEnd = 190 xend a [1 0 0] LetGo, "who outputs to the channel at address a goes on";
        }
    };
}
