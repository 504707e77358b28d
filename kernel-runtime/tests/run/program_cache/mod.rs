//! Programs kept on disk: loaded and not compiled, whatever happened to the folder meanwhile.
mod damage;
mod processes;
mod remote;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use systole::cache::DiskCache;
use systole::pjrt::{Client, Plugin};
use systole::run::{CompilerStats, Device, Mesh, Numerics, ProgramCache, Tensor, jit, with_device};

/// A cap that nothing here reaches.
const AMPLE: u64 = 1 << 30;

static CLIENT: LazyLock<Client> = LazyLock::new(|| client(&Plugin::cpu().unwrap(), 1));

fn client(plugin: &Plugin, n_devices: i64) -> Client {
    plugin.client_with(&[("cpu_device_count", n_devices.into())]).unwrap()
}

/// The devices of a client with a compiler that knows nothing yet, as in another process.
fn fresh(client: &Client, cache: &ProgramCache) -> Vec<Device> {
    let devices = Device::all_of(client).unwrap();
    devices[0].compiler().unwrap().set_cache(cache.clone());
    devices
}

fn in_folder(dir: &Path) -> ProgramCache {
    ProgramCache::on_disk(DiskCache::open(dir, AMPLE))
}

/// Runs `f` on a CPU whose compiler knows nothing yet; tells what that did.
fn run<R>(cache: &ProgramCache, f: impl FnOnce() -> R) -> (R, CompilerStats) {
    let device = fresh(&CLIENT, cache).remove(0);
    let result = with_device(&device, f);
    (result, device.compiler().unwrap().stats())
}

fn tensor(values: &[f32]) -> Tensor<f32> {
    Tensor::from_slice(values, [values.len()]).unwrap()
}

/// A program of its own for each `n`.
fn numbered(n: usize) -> Vec<f32> {
    let f = jit(move |x: Tensor<f32>| {
        (0..n % 7).fold(x * (n as f32 + 1.0), |x, step| x.abs() + step as f32)
    });
    f.call((tensor(&[1.0, -2.0, 3.0]),)).unwrap().to_vec().unwrap()
}

fn expected(n: usize) -> Vec<f32> {
    let scaled = [1.0, -2.0, 3.0].map(|x| x * (n as f32 + 1.0));
    scaled.map(|x| (0..n % 7).fold(x, |x, step| x.abs() + step as f32)).to_vec()
}

/// The files of all entries.
fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let list = |dir: &Path| std::fs::read_dir(dir).into_iter().flatten().flatten();
    for shard in list(dir).filter(|entry| entry.file_name().len() == 2) {
        found.extend(list(&shard.path()).map(|entry| entry.path()));
    }
    found.sort();
    found
}

#[test]
fn what_one_run_compiled_another_loads() {
    let dir = tempfile::tempdir().unwrap();
    let work = || {
        let mut x = tensor(&[1.0, 2.0, 3.0, 4.0]) + 0.0;
        // In the memory of what it replaces.
        x += 1.0;
        let kept = x.clone();
        x *= 2.0;
        let f = jit(|x: Tensor<f32>| (x.reshape([2, 2]).matmul(&x.reshape([2, 2])), x.sum(&[0])));
        let (product, sum) = f.call((x.clone(),)).unwrap();
        [x, kept, product.reshape([4]), sum.reshape([1])].map(|x| x.to_vec().unwrap())
    };
    let (first, cold) = run(&in_folder(dir.path()), work);
    assert_eq!(first[2], [64.0, 84.0, 112.0, 148.0]);
    let n = cold.n_programs as u64;
    assert_eq!((cold.loads, cold.compiles), (0, n));
    let disk = cold.disk.unwrap();
    assert_eq!((disk.hits, disk.misses, disk.stored), (0, n, n));
    assert!(disk.bytes_written > 0 && n >= 5);
    let (second, warm) = run(&in_folder(dir.path()), work);
    assert_eq!(second, first);
    assert_eq!((warm.loads, warm.compiles, warm.hits), (n, 0, cold.hits));
    let read = warm.disk.unwrap();
    assert_eq!((read.hits, read.misses, read.bytes_read), (n, 0, disk.bytes_written));
    assert_eq!((read.failures, read.healed, warm.compile_ns), (0, 0, 0));
    // Loaded once, they are this process's.
    let device = fresh(&CLIENT, &in_folder(dir.path())).remove(0);
    with_device(&device, || (work(), work()));
    assert_eq!(device.compiler().unwrap().stats().loads, n);
}

#[test]
fn a_donated_argument_is_donated_by_a_loaded_program_too() {
    let dir = tempfile::tempdir().unwrap();
    let work = || {
        let step = jit(|x: Tensor<f32>, y: Tensor<f32>| x * 2.0 + y).donate(&[0]);
        let (x, y) = (tensor(&[1.0, 2.0]), tensor(&[3.0, 4.0]));
        let kept = x.clone();
        let first = step.call((x, y.clone())).unwrap();
        let second = step.call((first, y)).unwrap().to_vec().unwrap();
        // A clone still held it, so it was not given away.
        assert_eq!(kept.to_vec().unwrap(), [1.0, 2.0]);
        second
    };
    for compiles in [1, 0] {
        let (result, stats) = run(&in_folder(dir.path()), work);
        assert_eq!(result, [13.0, 20.0]);
        assert_eq!(stats.compiles, compiles);
    }
}

#[test]
fn programs_for_other_devices_numerics_and_plugins_are_others() {
    let dir = tempfile::tempdir().unwrap();
    let (x, y) = (1.0 + 2.0_f32.powi(-9), 1.0 - 2.0_f32.powi(-9));
    let product = |device: &Device| {
        with_device(device, || {
            let (x, y) = (Tensor::full([1, 2], x), Tensor::full([2, 1], y));
            x.matmul(&y).to_vec().unwrap()[0]
        })
    };
    let plugins = [Plugin::cpu().unwrap(), Plugin::cpu_second().unwrap()];
    let clients = plugins.map(|plugin| client(&plugin, 2));
    let work = |compiles: u64| {
        for client in &clients {
            let devices = fresh(client, &in_folder(dir.path()));
            let compiler = devices[0].compiler().unwrap();
            for device in &devices {
                assert_eq!(product(device), 2.0 * x * y);
            }
            compiler.set_numerics(Numerics::Tpu);
            for device in &devices {
                // To bf16 both are 1.
                assert_eq!(product(device), 2.0);
            }
            let stats = compiler.stats();
            let made = (stats.compiles, stats.loads, stats.n_programs);
            assert_eq!(made, (compiles, stats.n_programs as u64 - compiles, stats.n_programs));
        }
        entries(dir.path()).len() as u64
    };
    let devices = fresh(&clients[0], &in_folder(dir.path()));
    product(&devices[0]);
    let per_product = devices[0].compiler().unwrap().stats().compiles;
    assert!(per_product > 0);
    std::fs::remove_dir_all(dir.path()).unwrap();
    // Two devices with two numerics; what has no product in it is compiled for both all the same.
    let n = work(4 * per_product);
    assert_eq!(n, 8 * per_product);
    assert_eq!(work(0), n);
}

#[test]
fn a_program_over_several_devices_is_loaded_too() {
    let dir = tempfile::tempdir().unwrap();
    let client = client(&Plugin::cpu().unwrap(), 4);
    for is_warm in [false, true] {
        let devices = fresh(&client, &in_folder(dir.path()));
        let mesh = Mesh::new(&devices, [("x", 4)]).unwrap();
        let rows = Tensor::from_slice(&std::array::from_fn::<f32, 16, _>(|i| i as f32), [8, 2]);
        let split = mesh.shard(&rows.unwrap(), ["x", ""]);
        let product = split.matmul(&split.transpose(&[1, 0])).sum(&[0]);
        assert_eq!(product.to_vec().unwrap()[..3], [64.0, 304.0, 544.0]);
        let stats = devices[0].compiler().unwrap().stats();
        assert_eq!((stats.compiles == 0, stats.loads == 0), (is_warm, !is_warm), "{stats:?}");
    }
}

#[test]
fn nothing_is_kept_where_it_is_off_or_may_take_no_room() {
    let dir = tempfile::tempdir().unwrap();
    let none = ProgramCache::on_disk(DiskCache::open(dir.path(), 0));
    for cache in [ProgramCache::off(), none] {
        for _again in 0..2 {
            let (result, stats) = run(&cache, || numbered(3));
            assert_eq!((result, stats.compiles), (expected(3), 1));
            assert_eq!(stats.disk.is_some(), cache.disk().is_some());
        }
    }
    assert_eq!(entries(dir.path()), [""; 0].map(PathBuf::from));
}
