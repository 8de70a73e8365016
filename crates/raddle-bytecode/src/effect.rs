//! Owns: `Effect`, what an instruction may do to memory, to its process and to other processes.
//! May use: nothing.
//! Never: a fact about one instruction; those stand in the table.
//!
//! Whoever reasons about programs without running them (the verifier, the report of a deadlock, the trace) asks for
//! the effect. The abstract interpreter behind the report matches on it without a wildcard: of a new instruction it
//! learns by the row in the table, and with an effect that it does not know it does not compile.

/// The second operand of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// What stands in the slot of the next field.
    Slot,
    /// The constant in the next field.
    Imm,
    /// 0.
    Zero,
}

/// How two numbers are compared, with sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is the relation of that name")]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    GreaterEqual,
}

/// How much one access to memory touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// 1 byte, zero-extended in a slot.
    Byte,
    /// 2 bytes, sign-extended in a slot.
    Half,
    /// 4 bytes.
    Word,
    /// 8 bytes.
    Long,
}

impl Width {
    /// In bytes.
    pub const fn bytes(self) -> u32 {
        match self {
            Width::Byte => 1,
            Width::Half => 2,
            Width::Word => 4,
            Width::Long => 8,
        }
    }
}

/// Where in memory an access goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Location {
    /// The address in slot `b`, and the constant in `c` more.
    Offset,
    /// Element `c` of the array whose address and count stand in slots `b` and `b + 1`.
    Element,
}

/// Where a message lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message {
    /// In the frame: `c` bytes from slot `b` on.
    Frame,
    /// In memory: as many bytes as slot `c` says, at the address in slot `b`.
    Memory,
}

/// What holds of slot `a` once the instruction has not stopped the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// It is at least 0 and less than the operand.
    Below(Operand),
    /// It is at least 0.
    NotNegative,
    /// It and slot `b` are at least 0, and together at most slot `c`.
    Slice,
}

/// What comes into slot `a`, for those who follow values. `Unknown` is always right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Formula {
    /// Not followed. It is what fills all slots of field `a`.
    Unknown,
    /// `b`.
    Same,
    /// The constant of 32 bits.
    Constant,
    /// The address of this frame, and the constant more.
    FrameAddress,
    /// The address of the constant data, and the constant more.
    DataAddress,
    /// `b` + operand.
    Sum(Operand),
    /// `b` - `c`.
    Difference,
    /// `b` * operand.
    Product(Operand),
    /// `b` / `c`.
    Quotient,
    /// `b` \ `c`.
    Remainder,
    /// -`b`.
    Negative,
    /// `b` /\ operand.
    And(Operand),
    /// `b` \/ `c`.
    Or,
    /// `b` >< `c`.
    Xor,
    /// ~`b`.
    Not,
    /// `b` << `c`.
    ShiftLeft,
    /// `b` >> `c`, zeros shifted in.
    ShiftRight,
    /// 1 if the comparison of `b` with the operand holds, else 0.
    Compare(Comparison, Operand),
    /// NOT `b`.
    Invert,
    /// The low bits of `b`, extended to a word as that width is.
    Narrow(Width),
    /// `b`, which is at most that.
    AtMost(u32),
    /// What lies in memory.
    Load(Location, Width),
    /// The address of an element of as many bytes as `a` was.
    ElementAddress,
    /// `a` * `c` + `b`.
    Subscript,
}

/// What an instruction may do. Where nothing else is said it goes on with the next one, or stops the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing else.
    Nothing,
    /// Gives the slots of field `a` a value.
    Set(Formula),
    /// Goes on only with what fits.
    Check(Bound),
    /// Clears as many bytes of the frame as the constant says, from slot `a` on.
    Clear,
    /// Writes slot `a` to memory.
    Store(Location, Width),
    /// Copies to the address in slot `a` from that in slot `b`: as many bytes as operand `c` says.
    Copy(Operand),
    /// Writes as many bytes as slot `b` says, from the address in slot `a` on.
    Fill,
    /// Changes the word at the address in slot `b`, and gives slot `a` its new value.
    Count,
    /// Gives slot `a` the address of zeroed memory that nobody else has: so many bytes.
    Allocate(Operand),
    /// Gives slot `a` the address of a frame for the function that the constant names.
    NewFrame,
    /// Gives back the memory at the address in slot `a`, which becomes 0.
    Free,
    /// Gives the slots of field `a` a value; a foreign routine may change all memory.
    CallHost,
    /// Goes to the label.
    Jump,
    /// Goes to the label if the comparison of `a` with the operand holds.
    JumpIf(Comparison, Operand),
    /// Adds 1 to slot `a`, takes 1 from slot `b`, and goes to the label while `b` is above 0.
    Repeat,
    /// The same, with what stands in slot `b + 1` instead of 1 added to `a`.
    RepeatStep,
    /// Goes on with one of as many instructions as the constant says, or the one behind them.
    Switch,
    /// Goes on in a function whose frame lies within this one.
    Call,
    /// Goes on in a function whose frame lies at the address in slot `a`.
    CallAt,
    /// Goes on behind the call.
    Return,
    /// Ends the process.
    End,
    /// Stops the program.
    Fault,
    /// A process begins at the label, in this frame.
    Fork,
    /// Processes begin in the function that the constant names, in frames of their own, and write slots `a` to `a + 5`.
    ForkMany,
    /// A process begins in the function that the constant names, in the frame at the address in slot `a`; it counts in
    /// the block at the address in slot `a + 1`.
    Spawn,
    /// Waits for the processes of every `Spawn` that count in slot `a`, and writes slots `a` and `a + 1`.
    JoinForked,
    /// Waits for the processes of a `Fork`, and writes slot `a`, which counts them.
    Join,
    /// Waits for the processes of a `ForkMany`, and writes slots `a` to `a + 5`.
    JoinMany,
    /// Waits until the channel at the address in slot `a` has taken a message.
    Send(Message),
    /// Waits until the channel at the address in slot `a` has filled a message.
    Receive(Message),
    /// Lets go on whose message the channel at the address in slot `a` has passed on.
    LetGo,
    /// Writes the state of an ALT, from slot `a` on.
    AltOpen,
    /// Writes the state of an ALT, from slot `b` on.
    AltGuard,
    /// The same, and the ALT may have chosen the channel at the address in slot `a`.
    AltChannel,
    /// Waits until a guard is ready; writes the state of an ALT, from slot `a` on.
    AltWait,
    /// Writes the state of an ALT, from slot `a` on; goes to the label if nothing was chosen.
    AltClose,
    /// Waits for the lock at the address in slot `a`.
    Claim,
    /// Gives back the lock at the address in slot `a`.
    Unclaim,
    /// Waits until all members of the barrier at the address in slot `a` have come; writes its three words.
    Sync,
    /// Writes the three words of the barrier at the address in slot `a`.
    Enroll,
    /// The same, and perhaps others need wait there no more.
    Resign,
    /// Waits for the time in slot `a`.
    Sleep,
    /// Goes on when others had their turn.
    Yield,
}

/// What a process can wait for at an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// That a message is taken.
    Output,
    /// A message.
    Input,
    /// A guard of an ALT.
    Alt,
    /// The end of other processes.
    Join,
    /// Time.
    Time,
    /// A lock.
    Lock,
    /// The other members of a barrier.
    Barrier,
}

impl Effect {
    /// What a process can wait for there.
    pub const fn waits(self) -> Option<Wait> {
        use Effect::*;
        match self {
            Send(_) => Some(Wait::Output),
            Receive(_) => Some(Wait::Input),
            AltWait => Some(Wait::Alt),
            Join | JoinMany | JoinForked => Some(Wait::Join),
            Sleep => Some(Wait::Time),
            Claim => Some(Wait::Lock),
            Sync => Some(Wait::Barrier),
            Nothing | Set(_) | Check(_) | Clear | Store(..) | Copy(_) | Fill | Count | Allocate(_)
            | NewFrame | Free | CallHost | Jump | JumpIf(..) | Repeat | RepeatStep | Switch | Call
            | CallAt | Return | End | Fault | Fork | ForkMany | Spawn | AltOpen | AltGuard | AltChannel
            | AltClose | Unclaim | Enroll | Resign | LetGo | Yield => None,
        }
    }

    /// Whether the next instruction may be the one that runs next, in this process; a call comes back to it.
    pub const fn falls_through(self) -> bool {
        use Effect::*;
        match self {
            Jump | Return | End | Fault => false,
            Nothing | Set(_) | Check(_) | Clear | Store(..) | Copy(_) | Fill | Count | Allocate(_)
            | NewFrame | Free | CallHost | JumpIf(..) | Repeat | RepeatStep | Switch | Call | CallAt
            | Fork | ForkMany | Spawn | Join | JoinMany | JoinForked | Send(_) | Receive(_) | AltOpen
            | AltGuard | AltChannel | AltWait | AltClose | Claim | Unclaim | Sync | Enroll | Resign
            | LetGo | Sleep | Yield => true,
        }
    }

    /// Whether it calls a function, at a call site.
    pub const fn calls(self) -> bool {
        matches!(self, Effect::Call | Effect::CallAt)
    }
}
