//! Owns: `cargo xtask pthreads --programs`: programs that are installed here, natively and on the library.
//! May use: `report`, `anyhow`.
//! Never: a program fetched; one that is missing is said to be.
//!
//! Each is a line of the shell's, in a folder of its own with a file of data. What it says must be the same natively
//! and on 1, 2 and 4 workers. `{}`, and a space, stand before each command that is to run on the library.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::report;

struct Program {
    name: &'static str,
    /// Says its version.
    version: &'static str,
    line: &'static str,
}

/// Where Python's own tests are wanted: each test's name without the time it took.
const PYTHON: &str =
    "{} python3 -m test -v $TESTS 2>&1 | grep -E '^(Ran|OK|FAILED|ERROR:|FAIL:)' | sed 's/ in .*//'";

const REDIS: &str = "
{} redis-server --port 7391 --save '' --appendonly no --io-threads 4 --io-threads-do-reads yes > redis.log 2>&1 &
ask() { redis-cli -p 7391 \"$@\" 2>&1; }
until [ \"$(ask ping)\" = PONG ]; do sleep 0.1; done
redis-benchmark -p 7391 -q -n 3000 -c 20 -r 100000 -t lpush,incr > bench.log 2>&1; echo benchmark $?
ask llen mylist
for key in 1 2 3; do ask set key$key $key; ask get key$key; done
ask shutdown nosave; wait; echo server $?";

const MEMCACHED: &str = "
{} memcached -u nobody -p 7392 -U 0 -l 127.0.0.1 -t 4 > memcached.log 2>&1 & server=$!
python3 - <<'END'
import socket, threading, time
wrong = 0
def connect():
    for _ in range(600):
        try: return socket.create_connection(('127.0.0.1', 7392))
        except OSError: time.sleep(0.1)
def work(n):
    global wrong
    s = connect(); f = s.makefile('rb')
    for i in range(150):
        v = ('%d-%d' % (n, i)).encode() * 20
        s.sendall(b'set k%d_%d 0 0 %d\\r\\n' % (n, i, len(v)) + v + b'\\r\\n')
        wrong += f.readline() != b'STORED\\r\\n'
        s.sendall(b'get k%d_%d\\r\\n' % (n, i)); f.readline()
        wrong += f.readline()[:-2] != v
        f.readline()
all = [threading.Thread(target=work, args=(n,)) for n in range(20)]
[one.start() for one in all]; [one.join() for one in all]
print('wrong answers', wrong)
END
kill $server; wait $server; echo server $?";

const NGINX: &str = "
mkdir -p www logs; cp in www/in; chmod -R a+rX .
cat > nginx.conf <<END
daemon off; master_process off; pid $PWD/nginx.pid; error_log $PWD/error.log; user root;
events { worker_connections 256; }
http { access_log off; aio threads; sendfile off; output_buffers 1 64k;
  client_body_temp_path $PWD/t1; proxy_temp_path $PWD/t2; fastcgi_temp_path $PWD/t3;
  uwsgi_temp_path $PWD/t4; scgi_temp_path $PWD/t5;
  server { listen 127.0.0.1:7393; root $PWD/www; } }
END
{} nginx -p $PWD -c $PWD/nginx.conf > nginx.log 2>&1 & server=$!
until curl -s -o first http://127.0.0.1:7393/in; do sleep 0.1; done
cmp first in && echo same
ab -q -n 300 -c 20 http://127.0.0.1:7393/in | grep -E '^(Complete|Failed|HTML)'
kill -QUIT $server; wait $server; echo server $?";

const CARGO: &str = "
if [ ! -d summing ]; then cargo new --quiet --vcs none summing; fi
cat > summing/src/main.rs <<'END'
fn main() {
    let all: Vec<_> = (0..8).map(|n| std::thread::spawn(move || (0..1000u64).map(|i| i * n).sum::<u64>())).collect();
    println!(\"{}\", all.into_iter().map(|one| one.join().unwrap()).sum::<u64>());
}
END
rm -rf made; cd summing
{} cargo build --quiet --offline --release --target-dir ../made; echo built $?
{} ../made/release/summing || exit 1";

const PROGRAMS: &[Program] = &[
    Program { name: "xz", version: "xz --version", line: "{} xz -T4 -1 -c < in" },
    Program { name: "pigz", version: "pigz --version", line: "{} pigz -p4 -n -c < in" },
    Program { name: "zstd", version: "zstd --version", line: "{} zstd -q -T4 -c < in" },
    Program { name: "sort", version: "sort --version", line: "{} sort --parallel=4 -S 4M < in" },
    Program { name: "rg", version: "rg --version", line: "{} rg -j4 --sort path -c stdio /usr/include" },
    Program { name: "fdfind", version: "fdfind --version", line: "{} fdfind -j4 . /usr/include | sort" },
    Program {
        name: "x264",
        version: "x264 --version",
        line: "head -c 3041280 in > clip.yuv
{} x264 --quiet --threads 4 --input-res 352x288 --input-csp i420 --demuxer raw --muxer raw -o - clip.yuv",
    },
    Program {
        name: "ffmpeg",
        version: "ffmpeg -version",
        line: "{} ffmpeg -nostdin -v error -f lavfi -i testsrc=d=2:s=320x240 -c:v mpeg4 -threads 4 -f rawvideo -",
    },
    Program {
        name: "bash",
        version: "bash --version",
        line: "{} bash -c 'for n in 1 2 3; do (seq 1000 | grep -c $n > out$n) & done; wait; cat out1 out2 out3'",
    },
    Program {
        name: "sqlite3",
        version: "sqlite3 --version",
        line: "rm -f base; for n in 1 2 3 4; do {} sqlite3 -cmd '.timeout 60000' base \\
'create table if not exists t(a); with recursive c(x) as (select 1 union all select x+1 from c where x < 3000)
insert into t select x from c' > /dev/null & done; wait; {} sqlite3 base 'select sum(a), count(*) from t'",
    },
    Program { name: "cargo", version: "cargo --version", line: CARGO },
    Program { name: "redis-server", version: "redis-server --version", line: REDIS },
    Program { name: "memcached", version: "memcached --version", line: MEMCACHED },
    Program { name: "nginx", version: "nginx -v 2>&1", line: NGINX },
    Program { name: "python3", version: "python3 --version", line: PYTHON },
];

/// So long a program may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// What it says, as a number to compare; none if it failed, or did not end in time.
fn outcome(line: &str, folder: &Path, prefix: &str) -> anyhow::Result<Option<String>> {
    let mut shell = Command::new("timeout");
    shell.arg(PATIENCE.as_secs().to_string()).args(["bash", "-c", &line.replace("{} ", prefix)]);
    // The last ones take minutes.
    let tests =
        std::env::var("TESTS").unwrap_or_else(|_| "test_thread test_queue test_threading_local".into());
    let output = shell.env("TESTS", tests).current_dir(folder).stderr(Stdio::null()).output()?;
    let hash = output.stdout.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let said = format!("{} bytes {hash:x}", output.stdout.len());
    // One that fails natively shows nothing.
    Ok(output.status.success().then_some(said))
}

fn version(program: &Program) -> Option<String> {
    let asked = Command::new("bash").args(["-c", program.version]).output().ok()?;
    let text = String::from_utf8_lossy(&asked.stdout).into_owned();
    let is_number = |word: &&str| word.chars().any(|c| c.is_ascii_digit()) && word.contains('.');
    let word = text.split_whitespace().find(is_number)?;
    asked.status.success().then(|| word.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned())
}

/// Some lines that compress, and some that do not.
fn data() -> String {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 20
    };
    (0..400_000).fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{line} {:x}", next());
        text
    })
}

/// Runs those of these names, or all; a table. True if all agree.
pub(crate) fn run(library: &Path, names: &[String]) -> anyhow::Result<bool> {
    let folder = std::env::temp_dir().join(format!("raddle-programs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    std::fs::write(folder.join("in"), data())?;
    report::say("| program | version | natively | 1 worker | 2 | 4 |\n|---|---|---|---|---|---|\n");
    let mut all_agree = true;
    for program in PROGRAMS.iter().filter(|one| names.is_empty() || names.iter().any(|name| name == one.name))
    {
        let Some(version) = version(program) else {
            report::say(&format!("| {} | is not here | | | | |\n", program.name));
            continue;
        };
        let began = Instant::now();
        let native = outcome(program.line, &folder, "")?;
        let word = if native.is_some() { "" } else { "failed, " };
        report::say(&format!(
            "| {} | {version} | {word}{:.1} s |",
            program.name,
            began.elapsed().as_secs_f64()
        ));
        for workers in [1, 2, 4] {
            let prefix = format!("env RADDLE_WORKERS={workers} LD_PRELOAD={} ", library.display());
            let began = Instant::now();
            let ours = outcome(program.line, &folder, &prefix)?;
            let agrees = ours.is_some() && ours == native;
            all_agree &= agrees;
            let word = match ours {
                None => "failed".to_owned(),
                Some(_) if agrees => "same".to_owned(),
                Some(said) => format!("{said}, not {}", native.as_deref().unwrap_or("failed")),
            };
            report::say(&format!(" {word}, {:.1} s |", began.elapsed().as_secs_f64()));
        }
        report::say("\n");
    }
    let _left = std::fs::remove_dir_all(&folder);
    Ok(all_agree)
}
