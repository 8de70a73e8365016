//! Owns: the types of a program, each once.
//! May use: `raddle-occam-syntax`.
//! Never: looks at expressions.
//!
//! Equal types have equal numbers, so most comparisons are one. Records, bundles, protocols and DATA TYPEs are equal
//! only to themselves: each declaration makes a new entry in its own list.

use crate::ast::{Basic, Direction, SharedEnds};
use crate::symbol::{FastMap, Symbol, Symbols};

/// The number of a type in [`Types`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TypeId(pub u32);

/// A type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the fields are what the comment on each variant names")]
pub enum Type {
    /// Stands for what was complained of; agrees with everything.
    Error,
    /// A predefined type.
    Basic(Basic),
    /// An array; the size is `None` when open or known only at run time.
    Array { size: Option<u32>, element: TypeId },
    /// A record, by its place in [`Types::records`].
    Record(u32),
    /// A DATA TYPE that is another type with a name of its own, by its place in [`Types::named`].
    Named(u32),
    /// A channel or one end of it.
    Chan { protocol: TypeId, direction: Option<Direction>, shared: SharedEnds },
    /// One end of a bundle, by its place in [`Types::bundles`].
    End { bundle: u32, direction: Direction, shared: bool },
    /// A protocol: `count::[]type`.
    Counted { count: TypeId, array: TypeId },
    /// A protocol: anything.
    Any,
    /// A named protocol, by its place in [`Types::protocols`].
    Protocol(u32),
    /// A port.
    Port(TypeId),
    /// A timer.
    Timer,
    /// A barrier.
    Barrier,
    /// A mobile.
    Mobile(TypeId),
    /// What is mobile of that kind is a process, by its place in [`Types::processes`].
    Process(u32),
}

/// A field of a record or bundle.
#[derive(Clone, Debug)]
pub struct FieldType {
    /// Its name.
    pub name: Symbol,
    /// Its type; in a bundle, the channel as the server end sees it.
    pub ty: TypeId,
}

/// A record or a bundle.
#[derive(Clone, Debug)]
pub struct Fields {
    /// The type's name.
    pub name: Symbol,
    /// The fields in order.
    pub fields: Vec<FieldType>,
    /// PACKED: no padding.
    pub packed: bool,
}

/// A DATA TYPE.
#[derive(Clone, Debug)]
pub struct NamedType {
    /// Its name.
    pub name: Symbol,
    /// What it is.
    pub of: TypeId,
}

/// A protocol.
#[derive(Clone, Debug)]
pub struct ProtocolType {
    /// Its name.
    pub name: Symbol,
    /// Whether each form begins with a tag.
    pub variant: bool,
    /// The forms; one without tag if it is no variant protocol.
    pub forms: Vec<(Option<Symbol>, Vec<TypeId>)>,
    /// For each form, the protocol that declares it: this one, or one that it extends.
    pub origins: Vec<u32>,
    /// For each form, the number of its tag.
    pub numbers: Vec<u8>,
    /// The protocols that it extends, those that they extend included.
    pub extends: Vec<u32>,
}

/// A PROC TYPE.
#[derive(Clone, Debug)]
pub struct ProcessType {
    /// Its name.
    pub name: Symbol,
    /// The number of a routine without a body that has its parameters.
    pub routine: u32,
}

/// All types of a program.
#[derive(Clone, Debug)]
pub struct Types {
    list: Vec<Type>,
    numbers: FastMap<Type, TypeId>,
    /// Records.
    pub records: Vec<Fields>,
    /// Bundles.
    pub bundles: Vec<Fields>,
    /// DATA TYPEs that are another type.
    pub named: Vec<NamedType>,
    /// Protocols.
    pub protocols: Vec<ProtocolType>,
    /// PROC TYPEs.
    pub processes: Vec<ProcessType>,
    /// MOBILE.CHAN, if the program mentions it.
    any_end: Option<TypeId>,
}

macro_rules! basic_ids {
    ($($name:ident $number:literal $type:expr;)*) => {
        impl Types {
            $(#[doc = concat!("The number of ", stringify!($type), " in every table.")]
            pub const $name: TypeId = TypeId($number);)*

            const FIRST: &'static [Type] = &[$($type),*];
        }
    };
}

basic_ids! {
    ERROR 0 Type::Error;
    BOOL 1 Type::Basic(Basic::Bool);
    BYTE 2 Type::Basic(Basic::Byte);
    INT 3 Type::Basic(Basic::Int);
    INT16 4 Type::Basic(Basic::Int16);
    INT32 5 Type::Basic(Basic::Int32);
    INT64 6 Type::Basic(Basic::Int64);
    REAL32 7 Type::Basic(Basic::Real32);
    REAL64 8 Type::Basic(Basic::Real64);
    TIMER 9 Type::Timer;
    ANY 10 Type::Any;
    UINT 11 Type::Basic(Basic::Uint);
    UINT8 12 Type::Basic(Basic::Uint8);
    UINT16 13 Type::Basic(Basic::Uint16);
    UINT32 14 Type::Basic(Basic::Uint32);
    UINT64 15 Type::Basic(Basic::Uint64);
}

impl Default for Types {
    fn default() -> Self {
        let mut types = Self {
            list: Vec::new(),
            numbers: FastMap::default(),
            records: Vec::new(),
            bundles: Vec::new(),
            named: Vec::new(),
            protocols: Vec::new(),
            processes: Vec::new(),
            any_end: None,
        };
        for &ty in Self::FIRST {
            types.intern(ty);
        }
        types
    }
}

impl Types {
    /// The number of a type, made on first sight.
    ///
    /// ```
    /// # use raddle_occam::types::{Type, Types};
    /// let mut types = Types::default();
    /// let array = Type::Array { size: Some(4), element: Types::INT };
    /// assert_eq!(types.intern(array), types.intern(array));
    /// ```
    pub fn intern(&mut self, ty: Type) -> TypeId {
        if let Some(&id) = self.numbers.get(&ty) {
            return id;
        }
        let id = TypeId(self.list.len() as u32);
        self.list.push(ty);
        self.numbers.insert(ty, id);
        id
    }

    /// The type of that number.
    pub fn get(&self, id: TypeId) -> Type {
        self.list[id.0 as usize]
    }

    /// An array of that element type.
    pub fn array(&mut self, size: Option<u32>, element: TypeId) -> TypeId {
        self.intern(Type::Array { size, element })
    }

    /// MOBILE.CHAN: a MOBILE RECORD of an end of some CHAN TYPE, and a number that says of which one. No program can
    /// write its fields' names.
    pub fn any_end(&mut self, name: Symbol, fields: [Symbol; 2]) -> TypeId {
        if let Some(known) = self.any_end {
            return known;
        }
        let bundle = self.bundles.len() as u32;
        self.bundles.push(Fields { name, fields: Vec::new(), packed: false });
        let end = self.intern(Type::End { bundle, direction: Direction::Input, shared: false });
        let record = self.records.len() as u32;
        let [end_name, number_name] = fields;
        let fields =
            vec![FieldType { name: end_name, ty: end }, FieldType { name: number_name, ty: Self::INT }];
        self.records.push(Fields { name, fields, packed: false });
        let record = self.intern(Type::Record(record));
        let any = self.intern(Type::Mobile(record));
        self.any_end = Some(any);
        any
    }

    /// Whether it is MOBILE.CHAN, or what that is without MOBILE.
    pub fn is_any_end(&self, id: TypeId) -> bool {
        self.any_end.is_some_and(|any| any == id || self.immobile(any) == id)
    }

    /// The number of an end's type in a MOBILE.CHAN; never 0.
    pub fn end_number(&self, id: TypeId) -> Option<u32> {
        match self.get(id) {
            Type::End { bundle, direction, shared } => {
                Some(1 + 4 * bundle + 2 * u32::from(direction == Direction::Output) + u32::from(shared))
            }
            _ => None,
        }
    }

    /// Whether there is an end in values of that type that nobody else has.
    pub fn holds_sole_end(&self, id: TypeId) -> bool {
        match self.get(self.plain(id)) {
            Type::End { shared, .. } => !shared,
            Type::Array { element, .. } => self.holds_sole_end(element),
            Type::Record(at) => self.records[at as usize].fields.iter().any(|it| self.holds_sole_end(it.ty)),
            _ => false,
        }
    }

    /// Whether there is something in values of that type whose bytes mean nothing to a program: what lies elsewhere.
    pub fn holds_addresses(&self, id: TypeId) -> bool {
        match self.get(id) {
            Type::Named(at) => self.holds_addresses(self.named[at as usize].of),
            Type::Array { element, .. } => self.holds_addresses(element),
            Type::Record(at) => self.records[at as usize].fields.iter().any(|it| self.holds_addresses(it.ty)),
            Type::Mobile(_) | Type::End { .. } | Type::Process(_) => true,
            _ => false,
        }
    }

    /// Whether a copy of such a value would be a second owner of what is in it: each MOBILE or end moves by itself.
    pub fn is_owner(&self, id: TypeId) -> bool {
        match self.get(id) {
            Type::Named(at) => self.is_owner(self.named[at as usize].of),
            Type::Mobile(_) | Type::End { .. } => false,
            _ => self.holds_addresses(id),
        }
    }

    /// Whether messages of that protocol have MOBILEs or ends in them.
    pub fn carries_addresses(&self, protocol: TypeId) -> bool {
        match self.get(protocol) {
            Type::Protocol(at) => {
                let forms = &self.protocols[at as usize].forms;
                forms.iter().flat_map(|(_, items)| items).any(|&item| self.carries_addresses(item))
            }
            Type::Counted { array, .. } => self.holds_addresses(array),
            _ => self.holds_addresses(protocol),
        }
    }

    /// The type without MOBILE around it.
    pub fn immobile(&self, id: TypeId) -> TypeId {
        match self.get(id) {
            Type::Mobile(of) => self.immobile(of),
            _ => id,
        }
    }

    /// The type behind MOBILE and DATA TYPE names.
    pub fn plain(&self, id: TypeId) -> TypeId {
        match self.get(id) {
            Type::Mobile(of) => self.plain(of),
            Type::Named(at) => self.plain(self.named[at as usize].of),
            _ => id,
        }
    }

    /// The predefined type behind MOBILE and names, if there is one.
    pub fn basic(&self, id: TypeId) -> Option<Basic> {
        match self.get(self.plain(id)) {
            Type::Basic(basic) => Some(basic),
            _ => None,
        }
    }

    /// Size and element type of an array, behind MOBILE and names.
    pub fn as_array(&self, id: TypeId) -> Option<(Option<u32>, TypeId)> {
        match self.get(self.plain(id)) {
            Type::Array { size, element } => Some((size, element)),
            _ => None,
        }
    }

    /// The type of the innermost elements of an array of arrays.
    pub fn innermost(&self, id: TypeId) -> TypeId {
        self.as_array(id).map_or(id, |(_, element)| self.innermost(element))
    }

    /// Whether it is a whole-number type, BYTE included.
    pub fn is_integer(&self, id: TypeId) -> bool {
        self.basic(id).is_some_and(|basic| !matches!(basic, Basic::Bool | Basic::Real32 | Basic::Real64))
    }

    /// Whether it is a real type.
    pub fn is_real(&self, id: TypeId) -> bool {
        matches!(self.basic(id), Some(Basic::Real32 | Basic::Real64))
    }

    /// Whether a protocol has all tags of another by extending it.
    pub fn extends(&self, protocol: TypeId, base: TypeId) -> bool {
        match (self.get(protocol), self.get(base)) {
            (Type::Protocol(at), Type::Protocol(base)) => self.protocols[at as usize].extends.contains(&base),
            _ => false,
        }
    }

    /// Whether it is a barrier, MOBILE or not.
    pub fn is_barrier(&self, id: TypeId) -> bool {
        matches!(self.get(self.immobile(id)), Type::Barrier)
    }

    /// Whether it is a barrier that stays where it is declared, or an array of such.
    pub fn holds_barriers(&self, id: TypeId) -> bool {
        matches!(self.get(self.innermost(id)), Type::Barrier)
    }

    /// The PROC TYPE of a mobile process, if it is one.
    pub fn process_type(&self, id: TypeId) -> Option<&ProcessType> {
        match self.get(self.immobile(id)) {
            Type::Process(at) => Some(&self.processes[at as usize]),
            _ => None,
        }
    }

    /// Whether there is a mobile process in values of that type.
    pub fn holds_process(&self, id: TypeId) -> bool {
        match self.get(self.plain(id)) {
            Type::Process(_) => true,
            Type::Array { element, .. } => self.holds_process(element),
            Type::Record(at) => self.records[at as usize].fields.iter().any(|it| self.holds_process(it.ty)),
            _ => false,
        }
    }

    /// Whether it is a channel, a port, timer or barrier, or an array of such.
    pub fn is_channel_like(&self, id: TypeId) -> bool {
        if self.holds_barriers(id) {
            return true;
        }
        matches!(self.get(self.plain(self.innermost(id))), Type::Chan { .. } | Type::Port(_) | Type::Timer)
    }

    /// Bytes of a value, when known; INT has four.
    pub fn bytes(&self, id: TypeId) -> Option<u64> {
        match self.get(self.plain(id)) {
            Type::Basic(basic) => Some(basic_bytes(basic)),
            Type::Array { size, element } => self.bytes(element)?.checked_mul(u64::from(size?)),
            Type::Record(at) => {
                let record = &self.records[at as usize];
                let mut total = 0_u64;
                for field in &record.fields {
                    let align = if record.packed { 1 } else { self.alignment(field.ty) };
                    total = total.next_multiple_of(align).checked_add(self.bytes(field.ty)?)?;
                }
                Some(if record.packed { total } else { total.next_multiple_of(self.alignment(id)) })
            }
            _ => None,
        }
    }

    /// The alignment of a value in a record: that of words at most.
    pub fn alignment(&self, id: TypeId) -> u64 {
        match self.get(self.plain(id)) {
            Type::Basic(basic) => basic_bytes(basic).min(4),
            Type::Array { element, .. } => self.alignment(element),
            Type::Record(at) if self.records[at as usize].packed => 1,
            Type::Record(at) => self.records[at as usize]
                .fields
                .iter()
                .map(|field| self.alignment(field.ty))
                .max()
                .unwrap_or(1),
            _ => 4,
        }
    }

    /// The type as a programmer would write it.
    pub fn show(&self, id: TypeId, symbols: &Symbols) -> String {
        let show = |id| self.show(id, symbols);
        match self.get(id) {
            Type::Error => "?".to_owned(),
            Type::Basic(basic) => format!("{basic:?}").to_uppercase(),
            Type::Array { size, element } => {
                format!("[{}]{}", size.map_or(String::new(), |size| size.to_string()), show(element))
            }
            Type::Record(at) => symbols.text(self.records[at as usize].name).to_owned(),
            Type::Named(at) => symbols.text(self.named[at as usize].name).to_owned(),
            Type::Chan { protocol, direction, shared } => {
                let end = direction.map_or(String::new(), |direction| direction.sign().to_string());
                let word = match shared {
                    SharedEnds::No => String::new(),
                    SharedEnds::Only(end) => format!("SHARED{} ", end.sign()),
                    SharedEnds::Both => "SHARED ".to_owned(),
                };
                format!("{word}CHAN {}{end}", show(protocol))
            }
            Type::End { bundle, direction, shared } => {
                let name = symbols.text(self.bundles[bundle as usize].name);
                format!("{}{name}{}", if shared { "SHARED " } else { "" }, direction.sign())
            }
            Type::Counted { count, array } => format!("{}::{}", show(count), show(array)),
            Type::Any => "ANY".to_owned(),
            Type::Protocol(at) => symbols.text(self.protocols[at as usize].name).to_owned(),
            Type::Port(of) => format!("PORT {}", show(of)),
            Type::Timer => "TIMER".to_owned(),
            Type::Barrier => "BARRIER".to_owned(),
            Type::Mobile(of) if self.is_any_end(id) => show(of),
            Type::Mobile(of) => format!("MOBILE {}", show(of)),
            Type::Process(at) => symbols.text(self.processes[at as usize].name).to_owned(),
        }
    }
}

fn basic_bytes(basic: Basic) -> u64 {
    match basic {
        Basic::Bool | Basic::Byte | Basic::Uint8 => 1,
        Basic::Int16 | Basic::Uint16 => 2,
        Basic::Int | Basic::Int32 | Basic::Uint | Basic::Uint32 | Basic::Real32 => 4,
        Basic::Int64 | Basic::Uint64 | Basic::Real64 => 8,
    }
}
