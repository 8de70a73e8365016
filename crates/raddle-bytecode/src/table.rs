//! Owns: the one table of instructions.
//! May use: nothing.
//! Never: a fact about an instruction that stands anywhere else too.
//!
//! A row is `Variant = mnemonic form [a b c] "what it does"`. The form says what the fields hold (see
//! [`Form`](crate::Form)); `[a b c]` says how many frame slots each field that names a slot covers from there on, so
//! that the verifier knows the last one touched (`0`: the field names no slot). From this table derive the type
//! `Op`, the builder's methods, the decoder, the verifier, assembler and disassembler, and the list in `FORMAT.md`.
//!
//! Suffixes: none or `w` 32-bit, `l` 64-bit, `h` 16-bit, `b` 8-bit, `f` REAL32, `d` REAL64, `i` a constant in the
//! instruction, `r` a register (slot) where the plain form has a constant.

/// Hands every row of the table to the macro named.
#[macro_export]
macro_rules! for_each_op {
    ($macro:ident) => {
        $macro! {
            // Moving values between slots.
            Nop = nop none [0 0 0] "nothing";
            Mov = mov ab [1 1 0] "a := b";
            MovL = mov_l ab [2 2 0] "a := b, 64 bits";
            Ldi = ldi ai [1 0 0] "a := imm";
            LdiL = ldi_l ai [2 0 0] "a := imm, sign-extended to 64 bits";
            Pool = pool ai [2 0 0] "a := the 64-bit constant number imm";
            Addr = addr ai [1 0 0] "a := the address of this frame + imm bytes";
            Data = data ai [1 0 0] "a := the address of the constant data + imm bytes";
            Zero = zero ai [1 0 0] "imm bytes of the frame, from slot a on, := 0";
            // INT32. The checked ones trap on overflow.
            Add = add abc [1 1 1] "a := b + c, checked";
            Sub = sub abc [1 1 1] "a := b - c, checked";
            Mul = mul abc [1 1 1] "a := b * c, checked";
            Div = div abc [1 1 1] "a := b / c, checked";
            Rem = rem abc [1 1 1] "a := b \\ c, checked";
            Neg = neg ab [1 1 0] "a := -b, checked";
            AddI = add_i abi [1 1 0] "a := b + imm, checked";
            MulI = mul_i abi [1 1 0] "a := b * imm, checked";
            Plus = plus abc [1 1 1] "a := b PLUS c, wrapping";
            Minus = minus abc [1 1 1] "a := b MINUS c, wrapping";
            Times = times abc [1 1 1] "a := b TIMES c, wrapping";
            PlusI = plus_i abi [1 1 0] "a := b PLUS imm, wrapping";
            And = and abc [1 1 1] "a := b /\\ c";
            Or = or abc [1 1 1] "a := b \\/ c";
            Xor = xor abc [1 1 1] "a := b >< c";
            AndI = and_i abi [1 1 0] "a := b /\\ imm, sign-extended";
            Not = not ab [1 1 0] "a := ~b";
            Shl = shl abc [1 1 1] "a := b << c; traps unless 0 <= c <= 32";
            Shr = shr abc [1 1 1] "a := b >> c, zeros shifted in; traps unless 0 <= c <= 32";
            Eq = eq abc [1 1 1] "a := b = c";
            Ne = ne abc [1 1 1] "a := b <> c";
            Lt = lt abc [1 1 1] "a := b < c";
            Le = le abc [1 1 1] "a := b <= c";
            EqI = eq_i abi [1 1 0] "a := b = imm";
            LtI = lt_i abi [1 1 0] "a := b < imm";
            After = after abc [1 1 1] "a := b AFTER c";
            NotBool = not_bool ab [1 1 0] "a := NOT b";
            WrapH = wrap_h ab [1 1 0] "a := the low 16 bits of b, sign-extended";
            WrapB = wrap_b ab [1 1 0] "a := the low 8 bits of b";
            ChkH = chk_h ab [1 1 0] "a := b; traps if it is no INT16";
            ChkB = chk_b ab [1 1 0] "a := b; traps if it is no BYTE";
            ChkBool = chk_bool ab [1 1 0] "a := b; traps if it is neither 0 nor 1";
            ChkShift = chk_shift ai [1 0 0] "traps unless 0 <= a <= imm";
            // INT64.
            AddL = add_l abc [2 2 2] "a := b + c, checked";
            SubL = sub_l abc [2 2 2] "a := b - c, checked";
            MulL = mul_l abc [2 2 2] "a := b * c, checked";
            DivL = div_l abc [2 2 2] "a := b / c, checked";
            RemL = rem_l abc [2 2 2] "a := b \\ c, checked";
            NegL = neg_l ab [2 2 0] "a := -b, checked";
            PlusL = plus_l abc [2 2 2] "a := b PLUS c, wrapping";
            MinusL = minus_l abc [2 2 2] "a := b MINUS c, wrapping";
            TimesL = times_l abc [2 2 2] "a := b TIMES c, wrapping";
            AndL = and_l abc [2 2 2] "a := b /\\ c";
            OrL = or_l abc [2 2 2] "a := b \\/ c";
            XorL = xor_l abc [2 2 2] "a := b >< c";
            NotL = not_l ab [2 2 0] "a := ~b";
            ShlL = shl_l abc [2 2 1] "a := b << c; traps unless 0 <= c <= 64";
            ShrL = shr_l abc [2 2 1] "a := b >> c, zeros shifted in; traps unless 0 <= c <= 64";
            EqL = eq_l abc [1 2 2] "a := b = c";
            NeL = ne_l abc [1 2 2] "a := b <> c";
            LtL = lt_l abc [1 2 2] "a := b < c";
            LeL = le_l abc [1 2 2] "a := b <= c";
            AfterL = after_l abc [1 2 2] "a := b AFTER c";
            // REAL32 and REAL64: IEEE 754; infinities and NaNs are values.
            AddF = add_f abc [1 1 1] "a := b + c";
            SubF = sub_f abc [1 1 1] "a := b - c";
            MulF = mul_f abc [1 1 1] "a := b * c";
            DivF = div_f abc [1 1 1] "a := b / c";
            RemF = rem_f abc [1 1 1] "a := b \\ c, IEEE remainder";
            NegF = neg_f ab [1 1 0] "a := -b";
            EqF = eq_f abc [1 1 1] "a := b = c";
            NeF = ne_f abc [1 1 1] "a := b <> c";
            LtF = lt_f abc [1 1 1] "a := b < c";
            LeF = le_f abc [1 1 1] "a := b <= c";
            AddD = add_d abc [2 2 2] "a := b + c";
            SubD = sub_d abc [2 2 2] "a := b - c";
            MulD = mul_d abc [2 2 2] "a := b * c";
            DivD = div_d abc [2 2 2] "a := b / c";
            RemD = rem_d abc [2 2 2] "a := b \\ c, IEEE remainder";
            NegD = neg_d ab [2 2 0] "a := -b";
            EqD = eq_d abc [1 2 2] "a := b = c";
            NeD = ne_d abc [1 2 2] "a := b <> c";
            LtD = lt_d abc [1 2 2] "a := b < c";
            LeD = le_d abc [1 2 2] "a := b <= c";
            FnF = fn_f abi [1 1 0] "a := function imm of b (see `Real`)";
            FnD = fn_d abi [2 2 0] "a := function imm of b (see `Real`)";
            // Conversions. imm: 0 rounds to nearest even, 1 truncates; traps where the value does not fit.
            WtoL = w_to_l ab [2 1 0] "INT32 to INT64";
            LtoW = l_to_w ab [1 2 0] "INT64 to INT32, checked";
            WtoF = w_to_f abi [1 1 0] "INT32 to REAL32";
            WtoD = w_to_d ab [2 1 0] "INT32 to REAL64";
            LtoF = l_to_f abi [1 2 0] "INT64 to REAL32";
            LtoD = l_to_d abi [2 2 0] "INT64 to REAL64";
            FtoW = f_to_w abi [1 1 0] "REAL32 to INT32, checked";
            FtoL = f_to_l abi [2 1 0] "REAL32 to INT64, checked";
            DtoW = d_to_w abi [1 2 0] "REAL64 to INT32, checked";
            DtoL = d_to_l abi [2 2 0] "REAL64 to INT64, checked";
            FtoD = f_to_d ab [2 1 0] "REAL32 to REAL64";
            DtoF = d_to_f abi [1 2 0] "REAL64 to REAL32, checked";
            Long = long ai [8 0 0] "predefined routine imm on slots a.. (see `Long`)";
            // Memory by address. A slot holds the address; every access stays within the machine's memory or traps.
            LdrB = ldr_b abi [1 1 0] "a := the byte at address b + imm (0 to 65535)";
            LdrH = ldr_h abi [1 1 0] "a := the INT16 at b + imm";
            LdrW = ldr_w abi [1 1 0] "a := the word at b + imm";
            LdrL = ldr_l abi [2 1 0] "a := the 64 bits at b + imm";
            StrB = str_b abi [1 1 0] "byte at b + imm := a";
            StrH = str_h abi [1 1 0] "INT16 at b + imm := a";
            StrW = str_w abi [1 1 0] "word at b + imm := a";
            StrL = str_l abi [2 1 0] "64 bits at b + imm := a";
            // Arrays. b, b + 1 hold address and count of elements; c the subscript, checked.
            AldB = ald_b abc [1 2 1] "a := element c of b, bytes";
            AldH = ald_h abc [1 2 1] "a := element c of b, INT16";
            AldW = ald_w abc [1 2 1] "a := element c of b, 32 bits";
            AldL = ald_l abc [2 2 1] "a := element c of b, 64 bits";
            AstB = ast_b abc [1 2 1] "element c of b := a, bytes";
            AstH = ast_h abc [1 2 1] "element c of b := a, INT16";
            AstW = ast_w abc [1 2 1] "element c of b := a, 32 bits";
            AstL = ast_l abc [2 2 1] "element c of b := a, 64 bits";
            Elem = elem abc [1 2 1] "a := address of element c of b; a held the bytes of an element";
            Flat = flat abc [1 1 1] "a := a * c + b; traps unless 0 <= b < c (subscripts of further dimensions)";
            Chk = chk ab [1 1 0] "traps unless 0 <= a < b (a subscript)";
            ChkI = chk_i ai [1 0 0] "traps unless 0 <= a < imm (a subscript)";
            ChkSlice = chk_slice abc [1 1 1] "traps unless [FROM a FOR b] lies within c elements";
            ChkSize = chk_size ab [1 1 0] "traps unless a = b (sizes of arrays)";
            ChkCount = chk_count a [1 0 0] "traps if a < 0 (a replicator's count)";
            Copy = copy abc [1 1 1] "copies c bytes from address b to address a; they may overlap";
            CopyI = copy_i abi [1 1 0] "copies imm bytes (0 to 65535) from address b to address a";
            Fill = fill abc [1 1 1] "b bytes from address a on := c";
            Cmp = cmp abc [1 1 1] "a := a bytes at address b equal those at c";
            // Memory from the heap: zeroed.
            Alloc = alloc ab [1 1 0] "a := address of b fresh bytes";
            AllocI = alloc_i ai [1 0 0] "a := address of imm fresh bytes";
            Free = free a [1 0 0] "gives back what alloc gave; 0 is ignored; a := 0";
            Inc = inc ab [1 1 0] "atomically: word at address b + 1; a := the new value";
            Dec = dec ab [1 1 0] "atomically: word at address b - 1; a := the new value";
            // Control. Jumps are relative; a jump backwards is where a process may be preempted.
            Jump = jump l [0 0 0] "goes to the label";
            Jz = jz al [1 0 0] "goes there if a = 0";
            Jnz = jnz al [1 0 0] "goes there if a <> 0";
            Jeq = jeq abl [1 1 0] "goes there if a = b";
            Jne = jne abl [1 1 0] "goes there if a <> b";
            Jlt = jlt abl [1 1 0] "goes there if a < b";
            Jle = jle abl [1 1 0] "goes there if a <= b";
            JeqI = jeq_i ail [1 0 0] "goes there if a = imm";
            JneI = jne_i ail [1 0 0] "goes there if a <> imm";
            JltI = jlt_i ail [1 0 0] "goes there if a < imm";
            JgeI = jge_i ail [1 0 0] "goes there if a >= imm";
            Repeat = repeat abl [1 1 0] "a := a PLUS 1; b := b - 1; goes there if b > 0";
            RepeatStep = repeat_step abl [1 2 0] "a := a PLUS slot b + 1; b := b - 1; goes there if b > 0";
            Switch = switch ai [1 0 0] "goes to the a-th of the imm + 1 jumps that follow; the last is for all other a";
            Call = call site [0 0 0] "calls; the callee's slot 0 is the caller's slot base";
            Frame = frame ai [1 0 0] "a := address of a fresh frame for function imm, to be called by calld";
            CallD = calld asite [1 0 0] "calls in the frame at address a; it is freed by the return";
            Ret = ret none [0 0 0] "returns";
            // Processes.
            Par = par ai [1 0 0] "opens a PAR of imm + 1: slot a counts; imm forks and the join follow";
            Fork = fork al [1 0 0] "a new process, in the same frame, begins at the label";
            Join = join a [1 0 0] "waits until all forked by the PAR of slot a have ended";
            ForkN = forkn ai [6 0 0] "processes for function imm: slots a.. = state, base, count, step, state, state";
            JoinN = joinn a [6 0 0] "waits until all of that forkn have ended";
            End = end none [0 0 0] "this process ends";
            Out = output abi [1 1 0] "to the channel at address a: imm bytes from slot b on";
            In = input abi [1 1 0] "from the channel at address a: imm bytes to slot b on";
            OutM = output_m abc [1 1 1] "to the channel at address a: c bytes at address b";
            InM = input_m abc [1 1 1] "from the channel at address a: c bytes to address b";
            Alt = alt a [6 0 0] "opens an ALT: slots a.. = chosen, last chosen, state";
            EnC = enc ab [1 6 0] "ALT b waits for the channel at address a, too";
            EnT = ent ab [1 6 0] "ALT b waits until after time a, too";
            EnS = ens a [6 0 0] "ALT a has a SKIP";
            AltW = altw a [6 0 0] "waits until one is ready; traps if none is enabled";
            DisC = disc abi [1 6 0] "takes the wait for channel a back; imm is chosen if it was ready (and by order)";
            DisT = dist abi [1 6 0] "the same for time a";
            DisS = diss abi [0 6 0] "the same for a SKIP (a is not used)";
            DisCR = disc_r abc [1 6 1] "as disc; the number stands in slot c";
            DisTR = dist_r abc [1 6 1] "as dist; the number stands in slot c";
            DisSR = diss_r abc [0 6 1] "as diss; the number stands in slot c";
            AltE = alte al [6 0 0] "closes the ALT: slot a is the number chosen, or goes to the label to open it again";
            Time = time a [1 0 0] "a := the time in microseconds, wrapping";
            Wait = wait a [1 0 0] "waits until after time a";
            Claim = claim a [1 0 0] "waits for the lock word at address a";
            Unclaim = release a [1 0 0] "gives the lock word at address a back";
            Resched = resched none [0 0 0] "lets others run";
            Host = host ai [4 0 0] "call number imm to the host, on slots a..";
            Stop = stop none [0 0 0] "STOP";
            Trap = trap i [0 0 0] "run-time error number imm (see `Trap`)";
            // Debug builds: what `#PRAGMA SHARED` and PERMITALIASES let through is looked at. Else they do nothing.
            Watch = watch ai [2 0 0] "looks at slot a + 1 bytes at address a from now on, entry imm; a := 0 if it does";
            Unwatch = unwatch a [1 0 0] "what begins at address a is looked at no more; 0 is ignored";
        }
    };
}
