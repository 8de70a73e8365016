//! Owns: `Net`: the ranks, plain messages between them, and the OS thread that begins and ends MPI.
//! May use: `auto`, `builds`, `engine`, `error`, `gate`, `install`, `late`, `link`, `mode`, `post`, `shim`, `libc`,
//! `raddle-syscall`.
//! Never: a wait without a deadline.

use crate::auto::AutoReport;
use crate::builds::{self, PROTOCOL};
use crate::engine::{Engine, GAP_MAX_NS, LATE_CODE};
use crate::error::{Late, NetError};
use crate::gate::{Arrival, after};
use crate::install;
use crate::late::OnLate;
use crate::link::EmulatedLink;
use crate::mode::{Counters, Mode};
use crate::post::{Post, Transfer};
use crate::shim::{Address, MpiRefusal, Shim};
use std::env;
use std::ffi::{c_int, c_void};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

/// How long a dedicated proxy looks without a pause, and how long it pauses then.
const SPIN: Duration = Duration::from_micros(20);
const NAP: Duration = Duration::from_micros(50);
/// After so many looks a proxy that does not sleep says what it has used.
const NAPS: u32 = 100;
/// A watchdog looks when nobody has for so long.
const WATCH: Duration = Duration::from_nanos(GAP_MAX_NS);
/// Tags of what ranks tell each other.
const COLLECTIVE_TAGS: u32 = 8000;
pub(crate) const PLAN_TAGS: c_int = 16_000;
/// By which ranks say that they are at their end, after one has given up.
const END_TAG: c_int = 32_766;
const REFUSAL_BYTES: usize = 1024;
/// Once a net has begun.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
/// While there is a net.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// How a net is to be.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NetConfig {
    /// What has not come after so long is [late](NetError::Late).
    pub deadline: Duration,
    /// A link that is emulated; none by default.
    pub link: Option<EmulatedLink>,
    /// What is done when something is late.
    pub on_late: OnLate,
    /// What it speaks with other ranks.
    protocol: u32,
}

impl Default for NetConfig {
    /// 30 seconds, and MPI's own way of moving messages.
    fn default() -> Self {
        NetConfig {
            deadline: Duration::from_secs(30),
            link: None,
            on_late: OnLate::Error,
            protocol: PROTOCOL,
        }
    }
}

impl NetConfig {
    /// With another deadline.
    pub fn deadline(self, deadline: Duration) -> NetConfig {
        NetConfig { deadline, ..self }
    }

    /// With that done when something is late.
    pub fn on_late(self, on_late: OnLate) -> NetConfig {
        NetConfig { on_late, ..self }
    }

    /// As another build of Raddle, which says that it speaks that protocol: for tests.
    #[doc(hidden)]
    pub fn of_another_build(self, protocol: u32) -> NetConfig {
        NetConfig { protocol, ..self }
    }

    /// With messages held back as that link would.
    pub fn link(self, link: EmulatedLink) -> NetConfig {
        NetConfig { link: Some(link), ..self }
    }
}

/// The ranks of this job, one of which is the caller. One in a program.
///
/// Dropped, it waits until all ranks have come to their end and what is under way is done, and ends MPI. If something
/// was [late](NetError::Late) before, if not all come, or in a panic, it ends the whole job (`MPI_Abort`, code 70), so
/// that no rank is left behind.
pub struct Net {
    pub(crate) engine: Arc<Engine>,
    ended: Arc<Arrival<()>>,
    facts: Facts,
    pub(crate) deadline: Duration,
    collectives: AtomicU32,
    pub(crate) plans: AtomicU32,
}

/// What a net knows of itself.
#[derive(Clone)]
struct Facts {
    rank: usize,
    size: usize,
    tag_max: c_int,
    library: String,
}

impl Net {
    /// Loads MPI and begins it: to be called by all ranks.
    ///
    /// # Errors
    /// If there is no MPI, none that is `mpirun`'s, none that lets one OS thread after another call it; if MPI is used
    /// by somebody else in this program; if it does not begin in time; if ranks differ in [`NetConfig::on_late`], or
    /// are of two builds whose messages differ. MPI is at its end again then.
    pub fn start(config: NetConfig) -> Result<Net, NetError> {
        let (_, path) = install::choose()?;
        let shim = Shim::load(&path)?;
        if shim.is_taken() || HAS_BEGUN.swap(true, Ordering::Relaxed) {
            let text = "MPI is already in use in this program, or at its end: there is one net in a program";
            return Err(NetError::Misuse(text.to_owned()));
        }
        let engine = Arc::new(Engine::new(shim, config.link, config.on_late.clone()));
        let (opened, ended) = (Arc::new(Arrival::new()), Arc::new(Arrival::new()));
        let keeper = (engine.clone(), opened.clone(), ended.clone());
        let thread = std::thread::Builder::new().name("raddle-mpi".to_owned());
        thread
            .spawn(move || keep(&keeper.0, &keeper.1, &keeper.2))
            .map_err(|error| NetError::Misuse(format!("no OS thread for MPI: {error}")))?;
        let facts = opened.wait(after(config.deadline)).unwrap_or_else(|| {
            Err(NetError::Late(Late {
                what: "the beginning of MPI".to_owned(),
                waited: config.deadline,
                pending: vec!["MPI_Init: perhaps not all ranks have started".to_owned()],
                strays: Vec::new(),
            }))
        })?;
        engine.set_place(facts.rank, facts.size);
        watch_exit();
        IS_OPEN.store(true, Ordering::Relaxed);
        let (collectives, plans) = (AtomicU32::new(0), AtomicU32::new(0));
        let net = Net { engine, ended, facts, deadline: config.deadline, collectives, plans };
        net.compare_beginnings(&config)?;
        Ok(net)
    }

    /// All ranks hear of which build each is, and what it does when something is late.
    fn compare_beginnings(&self, config: &NetConfig) -> Result<(), NetError> {
        let row = builds::beginning_row(config.protocol, config.on_late.number());
        let all = self.gather("the beginning of the net", &row).map_err(|error| match error {
            NetError::Disagree(text) => NetError::Disagree(format!("{text}: are all ranks of one build?")),
            error => error,
        })?;
        // It counts as none of the program's: all are past it, so that its tag is free again.
        self.collectives.store(0, Ordering::Relaxed);
        builds::compare_beginnings(&all)
    }

    /// The number of the caller's rank, from 0.
    pub fn rank(&self) -> usize {
        self.facts.rank
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.facts.size
    }

    /// From now on, what has not come after so long is late.
    pub fn set_deadline(&mut self, deadline: Duration) {
        self.deadline = deadline;
    }

    /// What the MPI calls itself.
    pub fn library(&self) -> &str {
        &self.facts.library
    }

    /// Who looks after what is under way, as it was set.
    pub fn mode(&self) -> Mode {
        self.engine.mode()
    }

    /// Who does at the moment: in mode [`Auto`](Mode::Auto) what that tries, or has chosen.
    pub fn acting(&self) -> Mode {
        self.engine.acting()
    }

    /// What mode [`Auto`](Mode::Auto) has chosen, and why; none in another mode.
    pub fn auto_report(&self) -> Option<AutoReport> {
        self.engine.auto_report()
    }

    /// Changes who looks after what is under way; at any time.
    ///
    /// # Errors
    /// [`NetError::Misuse`] if there can be no runtime whose workers would.
    pub fn set_mode(&self, mode: Mode) -> Result<(), NetError> {
        self.engine.set_mode(mode)
    }

    /// In a long task in mode [`Shared`](Mode::Shared): looks after what is under way, if it is time. A load and a
    /// branch while nothing is.
    #[inline]
    pub fn point(&self) {
        self.engine.point();
    }

    /// What the proxy has done.
    pub fn counters(&self) -> Counters {
        self.engine.counters()
    }

    /// Sends a message. It goes on when the bytes may be changed: the message is perhaps not received yet.
    ///
    /// # Errors
    /// [`NetError::Late`] and others.
    pub fn send(&self, peer: usize, tag: u16, bytes: &[u8]) -> Result<(), NetError> {
        let address = self.address(peer, tag)?;
        self.run(format!("a send to rank {peer}"), vec![Transfer::out(address, bytes)?]).map(drop)
    }

    /// Receives a message of `peer` with that tag, of at most as many bytes as there is room for; returns how many.
    ///
    /// # Errors
    /// [`NetError::Mpi`] with the class `MPI_ERR_TRUNCATE` if it is longer; [`NetError::Late`] and others.
    pub fn receive(&self, peer: usize, tag: u16, room: &mut [u8]) -> Result<usize, NetError> {
        let address = self.address(peer, tag)?;
        let post =
            self.run(format!("a receive from rank {peer}"), vec![Transfer::into(address, room.len())?])?;
        fill(&post, 0, room)
    }

    /// Sends a message to `peer` and receives one of it, both at a time.
    ///
    /// # Errors
    /// As [`send`](Self::send) and [`receive`](Self::receive).
    pub fn exchange(&self, peer: usize, tag: u16, bytes: &[u8], room: &mut [u8]) -> Result<usize, NetError> {
        let address = self.address(peer, tag)?;
        let transfers = vec![Transfer::into(address, room.len())?, Transfer::out(address, bytes)?];
        let post = self.run(format!("an exchange with rank {peer}"), transfers)?;
        fill(&post, 0, room)
    }

    /// Waits until all ranks have come here.
    ///
    /// # Errors
    /// [`NetError::Late`]: rank 0 names those that have not come.
    pub fn barrier(&self) -> Result<(), NetError> {
        self.gather("a barrier", &[]).map(drop)
    }

    /// What all ranks give, in their order; all give as many bytes, and make their collective calls in one order.
    ///
    /// # Errors
    /// [`NetError::Disagree`] if not all give as many; [`NetError::Late`] and others.
    pub fn all_gather(&self, bytes: &[u8]) -> Result<Vec<u8>, NetError> {
        self.gather("a gather", bytes)
    }

    /// What all ranks give as their speeds, in their order: for [`Cart::by_speeds`](crate::Cart::by_speeds). A
    /// collective call.
    ///
    /// # Errors
    /// As [`all_gather`](Self::all_gather).
    pub fn speeds(&self, own: f64) -> Result<Vec<f64>, NetError> {
        let all = self.gather("a gather of speeds", &own.to_le_bytes())?;
        Ok(all.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
    }

    pub(crate) fn address(&self, peer: usize, tag: u16) -> Result<Address, NetError> {
        if peer >= self.size() || peer == self.rank() {
            let text = format!("rank {} has no peer {peer} of {} ranks", self.rank(), self.size());
            return Err(NetError::Misuse(text));
        }
        if c_int::from(tag) > self.facts.tag_max || tag >= 1 << 15 {
            return Err(NetError::Misuse(format!("tag {tag} is not below 32768, which every MPI has")));
        }
        Ok(self.private(peer, c_int::from(tag), 0))
    }

    pub(crate) fn private(&self, peer: usize, tag: c_int, space: c_int) -> Address {
        Address { peer: c_int::try_from(peer).expect("MPI counts ranks in an int"), tag, space }
    }

    /// Posts messages and waits for them.
    pub(crate) fn run(&self, what: String, transfers: Vec<Transfer>) -> Result<Arc<Post>, NetError> {
        let post = Arc::new(Post::new(what, transfers, false));
        self.engine.start(&post)?;
        self.engine.wait(&post, self.deadline)?;
        Ok(post)
    }

    /// Rank 0 collects, and answers: so it knows who is late.
    fn gather(&self, what: &str, bytes: &[u8]) -> Result<Vec<u8>, NetError> {
        // The answer has what all give. All ranks refuse it: else those that were refused would let the others wait.
        let answer = bytes.len().checked_mul(self.size()).and_then(|all| all.checked_add(1));
        if answer.is_none_or(|answer| c_int::try_from(answer).is_err()) {
            let (each, ranks) = (bytes.len(), self.size());
            let text =
                format!("{what}: {each} bytes of {ranks} ranks each: together MPI takes less than 2^31");
            return Err(NetError::Misuse(text));
        }
        let number = self.collectives.fetch_add(1, Ordering::Relaxed);
        let tag = c_int::try_from(number % COLLECTIVE_TAGS * 2).expect("below 16000");
        let what = format!("{what} (the {}. collective call)", number + 1);
        if self.rank() == 0 { self.collect(what, tag, bytes) } else { self.contribute(what, tag, bytes) }
    }

    fn collect(&self, what: String, tag: c_int, bytes: &[u8]) -> Result<Vec<u8>, NetError> {
        let peers = 1..self.size();
        let room = |peer| Transfer::into(self.private(peer, tag, 1), bytes.len());
        let transfers: Vec<_> = peers.clone().map(room).collect::<Result<_, _>>()?;
        let came = self.run(what.clone(), transfers);
        let mut all = Vec::with_capacity(1 + bytes.len() * self.size());
        let refusal = match &came {
            Ok(post) => {
                all.push(0);
                all.extend_from_slice(bytes);
                for transfer in &post.transfers {
                    // SAFETY: the message is done.
                    all.extend_from_slice(unsafe { transfer.buffer.bytes() });
                }
                let sizes = post.sizes()?;
                let other = sizes.iter().position(|size| *size != bytes.len());
                other.map(|at| {
                    format!("{what}: rank {} gives {} bytes, rank 0 {}", at + 1, sizes[at], bytes.len())
                })
            }
            Err(NetError::Mpi { class, what, .. }) if class == "MPI_ERR_TRUNCATE" => {
                Some(format!("{what}: it gives more than rank 0"))
            }
            Err(error) => return Err(error.clone()),
        };
        if let Some(refusal) = &refusal {
            all = [&[1], refusal.as_bytes()].concat();
            all.truncate(1 + REFUSAL_BYTES);
        }
        let answer = |peer| Transfer::out(self.private(peer, tag + 1, 1), &all);
        self.run(what, peers.map(answer).collect::<Result<_, _>>()?)?;
        all.remove(0);
        refusal.map_or(Ok(all), |refusal| Err(NetError::Disagree(refusal)))
    }

    fn contribute(&self, what: String, tag: c_int, bytes: &[u8]) -> Result<Vec<u8>, NetError> {
        let room = 1 + REFUSAL_BYTES.max(bytes.len() * self.size());
        let answer = Transfer::into(self.private(0, tag + 1, 1), room)?;
        let post = self.run(what, vec![answer, Transfer::out(self.private(0, tag, 1), bytes)?])?;
        let mut all = vec![0; room];
        let size = fill(&post, 0, &mut all)?;
        all.truncate(size);
        match all.split_first() {
            Some((0, all)) => Ok(all.to_vec()),
            told => {
                let text = told.map_or(&[][..], |(_, text)| text);
                Err(NetError::Disagree(String::from_utf8_lossy(text).into_owned()))
            }
        }
    }

    /// All ranks are at their end, and nothing is under way.
    fn come_to_the_end(&self) -> Result<(), NetError> {
        let is_used = self.engine.close_channels();
        let all = self.gather("the end of the net", &[u8::from(is_used)])?;
        if all.contains(&1) {
            // Nobody says anything any more: what was said is heard out.
            let sent = self.engine.frames_sent(self.size());
            let bytes: Vec<u8> = sent.iter().flat_map(|count| count.to_le_bytes()).collect();
            let all = self.gather("the end of channels", &bytes)?;
            let own = 8 * self.rank();
            let rows = all.chunks_exact(8 * self.size());
            let of: Vec<u64> =
                rows.map(|row| u64::from_le_bytes(row[own..own + 8].try_into().expect("8 bytes"))).collect();
            self.engine.hear_out(&of, self.deadline)?;
        }
        self.engine.drain(self.deadline)
    }

    /// All ranks know that one has given up: rank 0, which ends the job, waits for the others to have put away what
    /// they have; they wait for that.
    fn meet_at_the_end(&self) {
        let empty = |peer, tag: c_int, is_in: bool| {
            let address = self.private(peer, tag, 1);
            if is_in { Transfer::into(address, 0) } else { Transfer::out(address, &[]) }
        };
        let transfers: Result<Vec<_>, _> = if self.rank() == 0 {
            (1..self.size()).map(|peer| empty(peer, END_TAG, true)).collect()
        } else {
            // Rank 0 never answers.
            [(END_TAG, false), (END_TAG - 1, true)]
                .map(|(tag, is_in)| empty(0, tag, is_in))
                .into_iter()
                .collect()
        };
        let Ok(transfers) = transfers else { return };
        let post = Arc::new(Post::new("the end of the net".to_owned(), transfers, false));
        if self.engine.start(&post).is_ok() {
            self.engine.wait_all_the_same(&post, self.deadline);
        }
    }

    /// A rank is not there any more: dropped, the net waits for nobody, and ends the whole job (code 70).
    pub fn give_up(&self) {
        self.engine.is_broken.store(true, Ordering::Relaxed);
    }

    /// How many persistent requests there are: what is left when all plans are gone was leaked.
    #[doc(hidden)]
    pub fn persistent_requests(&self) -> usize {
        self.engine.requests.load(Ordering::Relaxed)
    }

    /// Says on standard error why the job ends.
    fn say(&self, text: &str) {
        let _unwritable = writeln!(std::io::stderr(), "raddle-mpi: rank {}: {text}", self.rank());
    }
}

/// Copies what has come.
pub(crate) fn fill(post: &Post, index: usize, room: &mut [u8]) -> Result<usize, NetError> {
    let size = post.sizes()?[index].min(room.len());
    // SAFETY: the message is done, or there would be no sizes.
    room[..size].copy_from_slice(&unsafe { post.transfers[index].buffer.bytes() }[..size]);
    Ok(size)
}

/// Looks at what has come.
pub(crate) fn came<R>(post: &Post, index: usize, look: impl FnOnce(&[u8]) -> R) -> Result<R, NetError> {
    let size = post.sizes()?[index];
    // SAFETY: the message is done, or there would be no sizes.
    let bytes = unsafe { post.transfers[index].buffer.bytes() };
    Ok(look(&bytes[..size.min(bytes.len())]))
}

impl Drop for Net {
    fn drop(&mut self) {
        if self.engine.is_broken.load(Ordering::Relaxed) {
            self.say("something was late; the job ends");
        } else if std::thread::panicking() {
            self.engine.is_broken.store(true, Ordering::Relaxed);
            self.say("a panic ends the job");
        } else if let Err(error) = self.come_to_the_end() {
            self.engine.is_broken.store(true, Ordering::Relaxed);
            self.say(&format!("{error}; the job ends"));
        }
        if self.engine.all_know() && !std::thread::panicking() {
            self.meet_at_the_end();
        }
        IS_OPEN.store(false, Ordering::Relaxed);
        if let Err(error) = self.engine.end(self.deadline) {
            self.engine.is_broken.store(true, Ordering::Relaxed);
            self.say(&format!("{error}; the job ends"));
        }
        self.engine.ring(1);
        if self.ended.wait(after(self.deadline)).is_none() {
            self.say("MPI does not come to its end; this rank ends without");
            // SAFETY: it ends the process, whose threads stand in MPI: nothing else could.
            unsafe { libc::_exit(LATE_CODE) };
        }
    }
}

/// A rank that leaves with code 0 while others wait for it is no failure to every `mpirun`: so it does not.
fn watch_exit() {
    unsafe extern "C" {
        fn on_exit(call: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    }
    extern "C" fn leaves(code: c_int, _: *mut c_void) {
        if IS_OPEN.load(Ordering::Relaxed) {
            let text = "raddle-mpi: the program ends, and its net is open: other ranks may wait for it";
            let _unwritable = writeln!(std::io::stderr(), "{text}");
            // SAFETY: it ends the process, which was about to end.
            unsafe { libc::_exit(if code == 0 { LATE_CODE } else { code }) };
        }
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function may be called whenever the program ends, and by any thread.
        unsafe { on_exit(leaves, std::ptr::null_mut()) };
    });
}

/// The OS thread that begins MPI, polls in the modes `Dedicated` and `Watched`, and ends MPI.
fn keep(engine: &Engine, opened: &Arrival<Result<Facts, NetError>>, ended: &Arrival<()>) {
    let facts = match begin(&engine.shim) {
        Ok(facts) => facts,
        Err(error) => return opened.set(Err(error)),
    };
    opened.set(Ok(facts));
    look_after(engine);
    if engine.is_broken.load(Ordering::Relaxed) {
        engine.shim.abort(LATE_CODE);
    } else {
        // What it refuses now nobody could mend.
        let _refused = engine.shim.finalize();
    }
    ended.set(());
}

/// Begins MPI; if it is not as it must be, ends it again.
fn begin(shim: &Shim) -> Result<Facts, NetError> {
    let refused =
        |what: &str, MpiRefusal { class, text }| NetError::Mpi { what: what.to_owned(), class, text };
    let serialized = shim.init().map_err(|refusal| refused("MPI_Init_thread", refusal))?;
    let library = shim.library();
    let facts = if serialized {
        let opened = shim.open().map_err(|refusal| refused("the communicators of the net", refusal));
        opened.and_then(|(rank, size, tag_max)| {
            let (rank, size) = (usize::try_from(rank).unwrap_or(0), usize::try_from(size).unwrap_or(1));
            check_size(size, &library)?;
            Ok(Facts { rank, size, tag_max, library })
        })
    } else {
        let text = format!("{library} does not let one thread after another call it (MPI_THREAD_SERIALIZED)");
        Err(NetError::ThreadLevel(text))
    };
    if facts.is_err() {
        // The error is what the caller is told.
        let _refused = shim.finalize();
    }
    facts
}

/// A launcher that has started several ranks, each of which is alone, is another MPI's.
fn check_size(size: usize, library: &str) -> Result<(), NetError> {
    let number = |name| env::var(name).ok()?.parse::<usize>().ok();
    let told = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"].into_iter().find_map(number);
    match told {
        Some(told) if told != size => Err(NetError::WrongLibrary(format!(
            "mpirun has started {told} ranks, and {library} sees {size}: it is not that mpirun's MPI"
        ))),
        _ => Ok(()),
    }
}

fn look_after(engine: &Engine) {
    let former = raddle_syscall::affinity().ok();
    let (number, mut naps) = (raddle_syscall::thread_number(), 0_u32);
    // What MPI's beginning has taken is not the proxy's.
    let before = raddle_syscall::processor_time(number).unwrap_or_default();
    let (mut pinned, mut since) = (None, Instant::now());
    loop {
        // Acquire pairs with the release in `Engine::ring`.
        let seen = engine.doorbell.load(Ordering::Acquire);
        if seen & 1 != 0 {
            return;
        }
        let mode = engine.acting();
        let core = if let Mode::Dedicated { core } = mode { core } else { None };
        if core != pinned {
            pin(core, former.as_ref());
            pinned = core;
        }
        naps = (naps + 1) % NAPS;
        // What is awaited in mode `Inline` nobody else would look after.
        let is_awaited = mode == Mode::Inline && engine.awaited.load(Ordering::Relaxed) != 0;
        let is_anothers = matches!(mode, Mode::Inline | Mode::Shared) && !is_awaited;
        let sleeps = !engine.is_outstanding() || is_anothers;
        if sleeps || naps == 0 {
            let used = raddle_syscall::processor_time(number).unwrap_or_default();
            engine.note_keeper(used.saturating_sub(before));
        }
        if sleeps {
            raddle_syscall::futex_wait(&engine.doorbell, seen, None);
            since = Instant::now();
        } else if mode == Mode::Watched {
            let watch = WATCH.max(engine.lull());
            let rest = watch.saturating_sub(engine.since_last());
            if rest.is_zero() {
                engine.poll_at(engine.now(), true);
            }
            // If somebody else looks just now, it is soon enough to see to that later.
            raddle_syscall::futex_wait(&engine.doorbell, seen, Some(rest.max(WATCH / 4)));
        } else if engine.poll_at(engine.now(), true) {
            since = Instant::now();
        } else if since.elapsed() > SPIN {
            let nap = NAP.max(engine.lull());
            raddle_syscall::futex_wait(&engine.doorbell, seen, Some(nap));
        }
    }
}

/// Keeps the calling OS thread on a processor, or lets it go where it might before. Where the kernel refuses, it roams.
fn pin(core: Option<usize>, former: Option<&libc::cpu_set_t>) {
    let Some(former) = former else { return };
    let mut set = *former;
    if let Some(core) = core.filter(|core| *core < 8 * size_of::<libc::cpu_set_t>()) {
        // SAFETY: a set of processors is plain bits, none of them set.
        set = unsafe { std::mem::zeroed() };
        // SAFETY: the number is within the set.
        unsafe { libc::CPU_SET(core, &mut set) };
    }
    let _refused = raddle_syscall::set_affinity(&set);
}
