//! The real program on a pseudo-terminal.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::pty::openpty;

/// Ticks of a second in `/proc`: the same on every Linux.
const TICKS: f64 = 100.0;
/// Time between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// A program whose output and errors go to a terminal.
pub struct OnTerminal {
    child: Child,
    written: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl OnTerminal {
    /// Starts it on one thread.
    pub fn start(directory: &Path, args: &[&str]) -> Self {
        Self::with(directory, args, &[])
    }

    /// The same in another environment.
    pub fn with(directory: &Path, args: &[&str], environment: &[(&str, &str)]) -> Self {
        let pty = openpty(None, None).unwrap();
        let mut command = super::program(directory, args);
        command.env("RAYON_NUM_THREADS", "1").env("TERM", "xterm");
        command.env_remove("NO_COLOR");
        command.envs(environment.iter().copied());
        command.stdin(Stdio::null());
        command.stdout(pty.slave.try_clone().unwrap());
        command.stderr(pty.slave);
        let child = command.spawn().unwrap();
        // The terminal closes with its last writer, and this is one.
        drop(command);
        let written = Arc::new(Mutex::new(Vec::new()));
        let sink = written.clone();
        let mut master = File::from(pty.master);
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            // A closed terminal is an error here.
            while let Ok(n @ 1..) = master.read(&mut buffer) {
                sink.lock().unwrap().extend_from_slice(&buffer[..n]);
            }
        });
        OnTerminal {
            child,
            written,
            reader: Some(reader),
        }
    }

    /// Everything that was written so far.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned()
    }

    /// Seconds of processor time so far; nothing once it has ended.
    pub fn cpu(&self) -> Option<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        // The name in parentheses may hold spaces.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = |i: usize| fields.get(i)?.parse::<f64>().ok();
        Some((ticks(11)? + ticks(12)?) / TICKS)
    }

    /// Waits until `enough` of what was written and of the processor time; whether the program had ended before.
    pub fn until(&mut self, enough: impl Fn(&str, f64) -> bool) -> Option<ExitStatus> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                self.finish();
                return Some(status);
            }
            let cpu = self.cpu().unwrap_or(0.0);
            if enough(&self.text(), cpu) {
                return None;
            }
            let waited = started.elapsed();
            assert!(
                waited < Duration::from_secs(120),
                "nothing for {waited:?}: {}",
                self.text()
            );
            thread::sleep(LOOK);
        }
    }

    fn finish(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.finish();
    }
}

/// The lines that a terminal shows of what was written to it, wide enough for all.
pub fn screen(written: &str) -> Vec<String> {
    let mut lines: Vec<Vec<char>> = vec![Vec::new()];
    let mut column = 0;
    let mut rest = written.chars();
    while let Some(c) = rest.next() {
        let line = lines.last_mut().unwrap();
        match c {
            '\n' => {
                lines.push(Vec::new());
                column = 0;
            }
            '\r' => column = 0,
            '\x1b' => {
                let sequence: String = rest.by_ref().take(2).collect();
                match sequence.as_str() {
                    "[K" => line.truncate(column),
                    // Wrapping off and on, colours: to the letter that ends them.
                    _ if sequence.ends_with(|c: char| c.is_ascii_alphabetic()) => {}
                    _ => {
                        rest.by_ref().find(|c| c.is_ascii_alphabetic());
                    }
                }
            }
            c => {
                line.resize(line.len().max(column), ' ');
                match line.get_mut(column) {
                    Some(old) => *old = c,
                    None => line.push(c),
                }
                column += 1;
            }
        }
    }
    lines.into_iter().map(String::from_iter).collect()
}
