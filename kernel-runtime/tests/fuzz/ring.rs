//! Random kernels of several devices that copy and signal to each other, with what they compute.
//!
//! Each round every device sends to the one so many places further, and each has semaphores of its
//! own, so that no round can take the signals of another for its own.

use crate::generate::{self, Numbers, Random};
use std::fmt::Write;
use systole::ir::{Array, Kernel};

/// A kernel, the arrays of each device, and what each gives.
pub(crate) struct Ring {
    pub(crate) text: String,
    pub(crate) inputs: Vec<Vec<Array>>,
    pub(crate) expected: Vec<Vec<f64>>,
}

impl Ring {
    pub(crate) fn kernel(&self) -> Kernel {
        Kernel::parse(&self.text).unwrap_or_else(|errors| panic!("{errors}\n{}", self.text))
    }

    /// The kernel without one of the ops that keep the devices in step.
    pub(crate) fn out_of_step(&self, random: &mut Random) -> Kernel {
        let is_sync = |line: &&str| {
            ["sem_signal", "sem_wait", "dma_wait"].iter().any(|op| line.trim().starts_with(op))
        };
        let places = self.text.lines().enumerate().filter(|(_, line)| is_sync(line));
        let places: Vec<usize> = places.map(|(at, _)| at).collect();
        let dropped = places[random.below(places.len())];
        let lines = self.text.lines().enumerate().filter(|(at, _)| *at != dropped);
        let text: Vec<&str> = lines.map(|(_, line)| line).collect();
        Kernel::parse(&text.join("\n")).unwrap_or_else(|errors| panic!("{errors}"))
    }
}

/// The kernel of this seed with `n_rounds` rounds.
pub(crate) fn ring(seed: u64, n_rounds: usize) -> Ring {
    let mut random = Random(seed);
    let n_devices = 2 + random.below(3);
    let mut body = Body { text: String::new(), n_devices, state: Vec::new() };
    let kernel = format!(
        "kernel ring {{\nmesh ring: {n_devices}\n{}{}scratch mine: f32[8, 128] vmem\n\
         scratch theirs: f32[8, 128] vmem\nsemaphores all: barrier[]\n\
         semaphores ready: regular[{n_rounds}]\nsemaphores count: regular[{n_rounds}]\n\
         semaphores sent: dma[{n_rounds}]\nsemaphores received: dma[{n_rounds}]\n\
         body(%in: vmem f32[8, 128], %out: vmem f32[8, 128], %mine: vmem f32[8, 128], \
         %theirs: vmem f32[8, 128], %all: semaphores barrier[], \
         %ready: semaphores regular[{n_rounds}], %count: semaphores regular[{n_rounds}], \
         %sent: semaphores dma[{n_rounds}], %received: semaphores dma[{n_rounds}]) {{\n",
        param("in", "x"),
        param("out", "y"),
    );
    body.begin();
    let shell = Kernel::parse(&format!("{kernel}}}\n}}")).unwrap_or_else(|e| panic!("{e}"));
    let inputs: Vec<Vec<Array>> = (0..n_devices)
        .map(|device| generate::inputs(&shell, seed ^ device as u64, Numbers::Exact))
        .collect();
    body.state = inputs.iter().map(|arrays| arrays[0].to_f64()).collect();
    for round in 0..n_rounds {
        let step = 1 + random.below(n_devices - 1);
        if random.below(3) == 0 {
            body.count(round, step);
        } else {
            let combine = ["add", "sub", "max", "min"][random.below(4)];
            body.copy(round, step, combine);
        }
    }
    let text = format!("{kernel}{}  store %out[:, :], %x{n_rounds}\n}}\n}}\n", body.text);
    Ring { text, inputs, expected: body.state }
}

fn param(kind: &str, name: &str) -> String {
    format!(
        "{kind} {name}: f32[m: 8, n: 128] vmem block [8, 128] map() {{\n  \
         %0 = const 0 : i32\n  yield %0, %0\n}}\n"
    )
}

/// The ops, and what each device has.
struct Body {
    text: String,
    n_devices: usize,
    state: Vec<Vec<f64>>,
}

impl Body {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "  {line}");
    }

    /// All devices meet: before, nobody's memory may be there.
    fn begin(&mut self) {
        self.line("%me = device_id : i32");
        self.line("%one = const 1 : i32");
        self.line(&format!("%n = const {} : i32", self.n_devices));
        for step in 1..self.n_devices {
            self.line(&format!("%step{step} = const {step} : i32"));
            self.line(&format!("%sum{step} = add %me, %step{step} : i32"));
            self.line(&format!("%after{step} = rem %sum{step}, %n : i32"));
            self.line(&format!("sem_signal %all[], %one device %after{step}"));
        }
        self.line(&format!("%others = const {} : i32", self.n_devices - 1));
        self.line("sem_wait %all[], %others");
        self.line("%x0 = load %in[:, :] : f32[8, 128]");
    }

    /// What each device has, beside what the one `step` places before it has.
    fn update(&mut self, step: usize, f: impl Fn(usize, f64, f64) -> f64) {
        let old = self.state.clone();
        for (device, state) in self.state.iter_mut().enumerate() {
            let from = (device + old.len() - step) % old.len();
            let pairs = state.iter_mut().zip(&old[from]);
            pairs.for_each(|(mine, theirs)| *mine = f(from, *mine, *theirs));
        }
    }

    /// Each sends what it has, once the other says that it has room, and combines both.
    fn copy(&mut self, round: usize, step: usize, combine: &str) {
        let next = round + 1;
        let (to, from) = (step, self.n_devices - step);
        let copy = "%mine[:, :] to %theirs[:, :]";
        self.line(&format!("store %mine[:, :], %x{round}"));
        self.line(&format!("sem_signal %ready[{round}], %one device %after{from}"));
        self.line(&format!("sem_wait %ready[{round}], %one"));
        self.line(&format!(
            "dma_start {copy} semaphore %received[{round}] source_semaphore %sent[{round}] \
             device %after{to}"
        ));
        self.line(&format!("dma_wait {copy} semaphore %sent[{round}]"));
        self.line(&format!("dma_wait {copy} semaphore %received[{round}]"));
        self.line(&format!("%y{next} = load %theirs[:, :] : f32[8, 128]"));
        self.line(&format!("%x{next} = {combine} %x{round}, %y{next} : f32[8, 128]"));
        self.update(step, |_, mine, theirs| match combine {
            "add" => mine + theirs,
            "sub" => mine - theirs,
            "max" => mine.max(theirs),
            _ => mine.min(theirs),
        });
    }

    /// Each signals as often as its number says, and one more; and adds what it is signalled.
    fn count(&mut self, round: usize, step: usize) {
        let next = round + 1;
        let (to, from) = (step, self.n_devices - step);
        self.line(&format!("%given{next} = add %me, %one : i32"));
        self.line(&format!("%taken{next} = add %after{from}, %one : i32"));
        self.line(&format!("sem_signal %count[{round}], %given{next} device %after{to}"));
        self.line(&format!("sem_wait %count[{round}], %taken{next}"));
        self.line(&format!("%float{next} = cast %taken{next} : f32"));
        self.line(&format!("%tile{next} = splat %float{next} : f32[8, 128]"));
        self.line(&format!("%x{next} = add %x{round}, %tile{next} : f32[8, 128]"));
        self.update(step, |from, mine, _| mine + (from + 1) as f64);
    }
}
