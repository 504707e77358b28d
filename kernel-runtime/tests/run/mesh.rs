//! Tensors on meshes of CPU devices, against the same on one device.

use super::{code, error_of, tensor};
use systole::diag::Diagnostics;
use systole::prelude::*;
use systole::run::{
    Device, Mesh, Mode, Partition, Status, Tensor, axis_index, fori_loop, grad, jit, with_device,
    with_mode,
};

/// Numbers without a pattern that a wrong order would keep.
fn numbers(shape: &[usize], seed: u32) -> Tensor<f32> {
    let n: usize = shape.iter().product();
    let number = |idx: usize| ((idx as u32 * 7919 + seed * 104_729) % 1013) as f32 / 1013.0 - 0.5;
    tensor(&(0..n).map(number).collect::<Vec<_>>(), shape)
}

fn mesh(axes: &[(&str, usize)]) -> Mesh {
    let n_devices = axes.iter().map(|(_, size)| size).product();
    Mesh::new(&Device::cpus(n_devices), axes.iter().copied()).unwrap()
}

fn meshes() -> [Mesh; 4] {
    [mesh(&[("x", 2)]), mesh(&[("x", 4)]), mesh(&[("x", 2), ("y", 4)]), mesh(&[("x", 8)])]
}

fn close(a: &Tensor<f32>, b: &Tensor<f32>) {
    let (a, b) = (a.to_vec().unwrap(), b.to_vec().unwrap());
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(&b) {
        assert!((a - b).abs() <= 1e-5 * b.abs().max(1.0), "{a} {b}");
    }
}

#[test]
fn split_tensors_come_back_whole() {
    let x = numbers(&[8, 16], 1);
    for mesh in meshes() {
        for partition in [["x", ""], ["", "x"], ["", ""]] {
            let split = mesh.shard(&x, partition);
            assert_eq!(split.shape(), [8, 16]);
            assert_eq!(split.status(), Status::Materialized);
            assert_eq!(split.partition(), Some(Partition::from(partition)));
            assert_eq!(split.to_vec().unwrap(), x.to_vec().unwrap());
            assert_eq!(split.gather().to_vec().unwrap(), x.to_vec().unwrap());
            let parts = split.shards().unwrap();
            assert_eq!(parts.len(), mesh.n_devices());
            let n_parts = partition.iter().filter(|name| !name.is_empty()).count();
            let of_x = mesh.axes()[0].1;
            assert_eq!(parts[0].n_elems(), 128 / if n_parts == 1 { of_x } else { 1 });
        }
    }
    let mesh = mesh(&[("x", 2), ("y", 4)]);
    let both = mesh.shard(&x, ["y x", ""]);
    assert_eq!(both.shards().unwrap()[1].to_vec().unwrap(), x.to_vec().unwrap()[32..48]);
    // Split anew, by the devices.
    let anew = mesh.shard(&both, ["", "x y"]);
    assert_eq!(anew.partition(), Some(Partition::from(["", "x y"])));
    assert_eq!(anew.to_vec().unwrap(), x.to_vec().unwrap());
}

#[test]
fn ops_on_split_tensors_give_what_one_device_gives() {
    let (x, w) = (numbers(&[8, 16], 1), numbers(&[16, 8], 2));
    let layer = |x: &Tensor<f32>, w: &Tensor<f32>| {
        let y = (x.matmul(w) + 1.0).tanh();
        (y.exp() / y.exp().sum(&[1]).expand_dims(1), y.transpose(&[1, 0]).reshape([4, 16]))
    };
    let (expected, moved) = layer(&x, &w);
    for mesh in meshes() {
        for (of_x, of_w) in [
            (["x", ""], ["", ""]),
            (["x", ""], ["", "x"]),
            (["", "x"], ["x", ""]),
            (["", ""], ["", "x"]),
        ] {
            let (x, w) = (mesh.shard(&x, of_x), mesh.shard(&w, of_w));
            for mode in [Mode::Strict, Mode::Debug, Mode::DeferAndFuse] {
                let (y, z) = with_mode(mode, || layer(&x, &w));
                close(&y, &expected);
                close(&z, &moved);
                assert_eq!(y.mesh(), Some(mesh.clone()));
            }
            let compiled = jit(move |x: Tensor<f32>, w: Tensor<f32>| layer(&x, &w));
            for _again in 0..2 {
                let (y, z) = compiled.call((x.clone(), w.clone())).unwrap();
                close(&y, &expected);
                close(&z, &moved);
            }
            assert_eq!(compiled.n_programs(), 1);
        }
    }
}

#[test]
fn jit_splits_values_as_asked_and_compiles_per_partition() {
    let mesh = mesh(&[("x", 2), ("y", 4)]);
    let f = jit(|x: Tensor<f32>| (x * 2.0).partitioned(["y", "x"]));
    let x = numbers(&[8, 16], 3);
    for partition in [["x", ""], ["", "x y"]] {
        let y = f.call((mesh.shard(&x, partition),)).unwrap();
        assert_eq!(y.partition(), Some(Partition::from(["y", "x"])));
        close(&y, &(&x * 2.0));
    }
    assert_eq!(f.n_programs(), 2);
    let donating = jit(|x: Tensor<f32>| x + 1.0).donate(&[0]);
    let split = mesh.shard(&x, ["x", "y"]) + 0.0;
    let kept = split.clone();
    close(&donating.call((split,)).unwrap(), &(&x + 1.0));
    close(&kept, &x);
    close(&donating.call((kept,)).unwrap(), &(&x + 1.0));
}

#[test]
fn gradients_over_a_mesh_are_those_of_one_device() {
    let f = |(x, w): (Tensor<f32>, Tensor<f32>)| x.matmul(&w).tanh().sum(&[0, 1]);
    let (x, w) = (numbers(&[8, 16], 1), numbers(&[16, 8], 2));
    let (dx, dw) = grad(f)(&(x.clone(), w.clone())).unwrap();
    for mesh in meshes() {
        let args = (mesh.shard(&x, ["x", ""]), mesh.shard(&w, ["", ""]));
        let (of_x, of_w) = grad(f)(&args).unwrap();
        close(&of_x, &dx);
        close(&of_w, &dw);
        // By hand: the same, with the sum over devices written out.
        let by_hand = mesh.shard_map(
            |x: Tensor<f32>, w: Tensor<f32>| x.matmul(&w).tanh().sum(&[0, 1]).all_reduce_sum("x"),
            [["x", ""], ["", ""]],
            [Partition::replicated()],
        );
        let loss = |args: (Tensor<f32>, Tensor<f32>)| by_hand.call(args).unwrap();
        let (of_x, of_w) = grad(loss)(&args).unwrap();
        close(&of_x, &dx);
        close(&of_w, &dw);
        let step = jit(move |x: Tensor<f32>, w: Tensor<f32>| grad(loss_of)(&(x, w)));
        let (of_x, _) = step.call(args).unwrap();
        close(&of_x, &dx);
    }
}

fn loss_of((x, w): (Tensor<f32>, Tensor<f32>)) -> Tensor<f32> {
    x.matmul(&w).tanh().sum(&[0, 1])
}

#[test]
fn collectives_do_what_they_say() {
    for n in [2, 4, 8] {
        let mesh = mesh(&[("x", n)]);
        let x = numbers(&[n * n, n], 5);
        let split = mesh.shard(&x, ["x", ""]);
        let whole = x.to_vec().unwrap();
        let rows = |part: usize| &whole[part * n * n..(part + 1) * n * n];
        let run = |f: fn(Tensor<f32>) -> Tensor<f32>, out: [&str; 2]| {
            mesh.shard_map(f, [["x", ""]], [out]).call((split.clone(),)).unwrap()
        };
        let combined = |f: fn(f32, f32) -> f32| -> Vec<f32> {
            (0..n * n).map(|idx| (0..n).map(|part| rows(part)[idx]).reduce(f).unwrap()).collect()
        };
        let sum = tensor(&combined(|a, b| a + b), &[n, n]);
        close(&run(|x| x.all_reduce_sum("x"), ["", ""]), &sum);
        close(&run(|x| x.reduce_scatter_sum("x", 0), ["x", ""]), &sum);
        close(&run(|x| x.reduce_scatter_sum("x", -1), ["", "x"]), &sum);
        close(&run(|x| x.all_reduce_max("x"), ["", ""]), &tensor(&combined(f32::max), &[n, n]));
        close(&run(|x| x.all_reduce_min("x"), ["", ""]), &tensor(&combined(f32::min), &[n, n]));
        close(&run(|x| x.all_gather("x", 0), ["", ""]), &x);
        // What is split over rows is split over columns, and the other way round.
        let turned = run(|x| x.all_to_all("x", 1, 0), ["", "x"]);
        assert_eq!(turned.shape(), [n * n, n]);
        close(&turned, &x);
        let places = mesh.shard_map(
            |x: Tensor<f32>| x * 0.0 + axis_index("x").cast::<f32>(),
            [["x", ""]],
            [["x", ""]],
        );
        let place = places.call((split.clone(),)).unwrap().to_vec().unwrap();
        assert!(place.iter().enumerate().all(|(idx, &at)| at == (idx / (n * n)) as f32));
        let ring: Vec<(usize, usize)> = (0..n).map(|from| (from, (from + 1) % n)).collect();
        let shift = mesh.shard_map(
            move |x: Tensor<f32>| x.collective_permute("x", &ring),
            [["x", ""]],
            [["x", ""]],
        );
        let mut rotated = whole.clone();
        rotated.rotate_right(n * n);
        close(&shift.call((split.clone(),)).unwrap(), &tensor(&rotated, &[n * n, n]));
    }
}

#[test]
fn collectives_run_in_groups_along_the_axes_named() {
    let mesh = mesh(&[("x", 2), ("y", 4)]);
    let x = Tensor::<i32>::arange(8);
    let f = mesh.shard_map(
        |x: Tensor<i32>| {
            (
                x.all_reduce_sum("x"),
                x.all_reduce_sum("y"),
                x.all_gather("y x", 0),
                axis_index("y x"),
            )
        },
        [["x y"]],
        [Partition::from(["y"]), ["x"].into(), Partition::replicated(), Partition::replicated()],
    );
    let (over_x, over_y, all, _) = f.call((mesh.shard(&x, [""]),)).unwrap();
    assert_eq!(over_x.to_vec().unwrap(), [4, 6, 8, 10]);
    assert_eq!(over_y.to_vec().unwrap(), [6, 22]);
    assert_eq!(all.to_vec().unwrap(), [0, 4, 1, 5, 2, 6, 3, 7]);
}

#[test]
fn gradients_go_back_through_collectives() {
    let mesh = mesh(&[("x", 4)]);
    let x = numbers(&[16, 4], 7);
    // Whatever is exchanged, every element is squared once and weighted by its row.
    let weight = Tensor::<f32>::iota([16, 4], 0);
    let expected = &x * 2.0 * &weight;
    type Body = fn(Tensor<f32>, Tensor<f32>) -> Tensor<f32>;
    let bodies: [Body; 4] = [
        |x, w| {
            (x.all_gather("x", 0) * &x.all_gather("x", 0) * w.all_gather("x", 0) * 0.25)
                .sum(&[0, 1])
        },
        |x, w| {
            let (x, w) = (x.all_to_all("x", 1, 0), w.all_to_all("x", 1, 0));
            (&x * &x * w).sum(&[0, 1])
        },
        |x, w| {
            let pairs = [(0, 2), (2, 3), (3, 1), (1, 0)];
            let (x, w) = (x.collective_permute("x", &pairs), w.collective_permute("x", &pairs));
            (&x * &x * w).sum(&[0, 1])
        },
        |x, w| (&x * &x * w).reduce_scatter_sum("x", 0).sum(&[0, 1]),
    ];
    for body in bodies {
        let f = mesh.shard_map(
            move |x: Tensor<f32>, w: Tensor<f32>| body(x, w).all_reduce_sum("x"),
            [["x", ""], ["x", ""]],
            [Partition::replicated()],
        );
        let w = mesh.shard(&weight, ["x", ""]);
        let loss = |x: Tensor<f32>| f.call((x, w.clone())).unwrap();
        let split = mesh.shard(&x, ["x", ""]);
        close(&loss(split.clone()), &(&x * &x * &weight).sum(&[0, 1]));
        close(&grad(loss)(&split).unwrap(), &expected);
    }
    let max = mesh.shard_map(
        |x: Tensor<f32>| x.all_reduce_max("x").sum(&[0, 1]),
        [["x", ""]],
        [Partition::replicated()],
    );
    let error = grad(|x: Tensor<f32>| max.call((x,)).unwrap())(&mesh.shard(&x, ["x", ""]));
    assert_eq!(code(&error.unwrap_err()), "tensor::gradient");
}

#[tpu_kernel(grid(i: parallel))]
fn double<T: Float>(#[block(m: 8 @ i, n)] x: In<T>, #[block(m: 8 @ i, n)] y: Out<T>) {
    y[..] = x[..] * 2.0;
}

#[test]
fn kernels_loops_and_outside_tensors_work_on_every_device() {
    let mesh = mesh(&[("x", 4)]);
    let x = numbers(&[64, 4], 9);
    let bias = mesh.replicate(&numbers(&[4], 11));
    let added = bias.clone();
    let f = mesh.shard_map(
        move |x: Tensor<f32>| {
            let y = double::<f32>().call(&x)? + &added;
            // A ring: after four turns everybody has seen everything.
            fori_loop(
                0..4,
                |_, (sum, part): (Tensor<f32>, Tensor<f32>)| {
                    let next = part.collective_permute("x", &[(0, 1), (1, 2), (2, 3), (3, 0)]);
                    (sum + part, next)
                },
                (y.zeros_like(), y),
            )
        },
        [["x", ""]],
        [["", ""], ["x", ""]],
    );
    let (sum, part) = f.call((mesh.shard(&x, ["x", ""]),)).unwrap();
    let y = &x * 2.0 + bias.gather().to(&Device::current());
    close(&part, &y);
    close(&sum, &y.reshape([4, 16, 4]).sum(&[0]));
    // The same kernel on whole arrays, where XLA decides.
    let whole = double::<f32>().call(&mesh.shard(&x, ["x", ""])).unwrap();
    close(&whole, &(&x * 2.0));
}

#[test]
fn tensors_move_between_devices() {
    let devices = Device::cpus(4);
    let x = with_device(&devices[0], || numbers(&[4, 4], 13) + 0.0);
    let there = x.to(&devices[3]);
    assert_eq!(there.device(), &devices[3]);
    assert_eq!((&there + 1.0).to_vec().unwrap(), (&x + 1.0).to_vec().unwrap());
    // Another client has other memory.
    let far = there.to(&Device::cpu());
    assert_eq!(far.to_vec().unwrap(), x.to_vec().unwrap());
    let mesh = Mesh::new(&devices, [("x", 4)]).unwrap();
    for from in [&x, &far] {
        let everywhere = from.to(mesh.device());
        assert_eq!(everywhere.partition(), Some(Partition::from(["", ""])));
        assert_eq!(everywhere.to_vec().unwrap(), x.to_vec().unwrap());
        let back = mesh.shard(&everywhere, ["x", ""]).to(&devices[1]);
        assert_eq!(back.to_vec().unwrap(), x.to_vec().unwrap());
    }
    let deferred = with_mode(Mode::DeferAndFuse, || (&x * 2.0).to(&devices[2]));
    assert_eq!(deferred.to_vec().unwrap(), (&x * 2.0).to_vec().unwrap());
    // Made from nothing on the mesh.
    let made = with_device(mesh.device(), || Tensor::<f32>::ones([4]) * 2.0);
    assert_eq!(made.to_vec().unwrap(), [2.0; 4]);
    let f = jit(move |x: Tensor<f32>| x.to(&devices[1]));
    assert_eq!(code(&f.call((x,)).unwrap_err()), "tensor::device");
}

#[test]
fn misuse_of_meshes_names_axes_and_numbers() {
    let says = |error: Diagnostics, words: &[&str]| {
        assert_eq!(code(&error), "tensor::mesh", "{error}");
        for word in words {
            assert!(error.to_string().contains(word), "no {word:?} in {error}");
        }
        assert!(!error.0[0].labels.is_empty(), "{error}");
    };
    let devices = Device::cpus(4);
    says(Mesh::new(&devices, [("x", 3)]).unwrap_err(), &["x=3 has 3 devices", "4 were given"]);
    says(Mesh::new(&devices, [("x", 2), ("x", 2)]).unwrap_err(), &["`x`"]);
    says(Mesh::new(&devices, [("a b", 4)]).unwrap_err(), &["a b"]);
    says(Mesh::new(&[], [("x", 0)]).unwrap_err(), &["`x`"]);
    says(Mesh::new(&[], []).unwrap_err(), &["at least one axis"]);
    let twice = [devices[0].clone(), devices[0].clone()];
    says(Mesh::new(&twice, [("x", 2)]).unwrap_err(), &["device 1", "twice"]);
    let mixed = [devices[0].clone(), Device::cpu()];
    says(Mesh::new(&mixed, [("x", 2)]).unwrap_err(), &["another client"]);
    let mesh = Mesh::new(&devices, [("x", 2), ("y", 2)]).unwrap();
    says(Mesh::new(&[mesh.device().clone()], [("x", 1)]).unwrap_err(), &["a mesh itself"]);

    let x = numbers(&[6, 3], 1);
    says(
        error_of(&mesh.shard(&x, ["", "x"])),
        &["axis 1", "3 elements", "2", "`x`", "pad it to 4"],
    );
    says(error_of(&mesh.shard(&x, ["z"])), &["no axis `z`", "x=2, y=2"]);
    says(error_of(&mesh.shard(&x, ["x", "x"])), &["`x` twice"]);
    says(error_of(&mesh.shard(&x, ["x x"])), &["named twice"]);
    says(error_of(&mesh.shard(&x, ["x", "", ""])), &["3 entries", "2 axes"]);
    says(error_of(&x.partitioned(["x"])), &["not on a mesh"]);
    says(error_of(&x.all_reduce_sum("x")), &["`all_reduce_sum`", "outside of `shard_map`"]);
    says(error_of(&axis_index("x")), &["`axis_index`", "outside of `shard_map`"]);

    let split = mesh.shard(&x, ["x", ""]);
    let body = |f: fn(Tensor<f32>) -> Tensor<f32>| {
        mesh.shard_map(f, [["x", ""]], [["x", ""]]).call((split.clone(),)).unwrap_err()
    };
    says(body(|x| x.all_gather("z", 0)), &["no axis `z`"]);
    says(body(|x| x.all_gather("", 0)), &["no mesh axis"]);
    says(body(|x| x.reduce_scatter_sum("x", 0)), &["axis 0", "3 elements", "pad it to 4"]);
    says(body(|x| x.all_to_all("y", 1, 0)), &["axis 1", "3 elements"]);
    says(body(|x| x.collective_permute("x", &[(0, 2)])), &["from 0 to 2", "has 2 devices"]);
    says(body(|x| x.collective_permute("x", &[(0, 1), (0, 0)])), &["0 sends twice"]);
    says(body(|x| x.collective_permute("x", &[(0, 1), (1, 1)])), &["1 receives twice"]);
    says(body(|x| x.partitioned(["x"])), &["`partitioned`"]);
    assert_eq!(code(&body(|x| x.all_gather("x", 2))), "tensor::shape");
    let flags =
        mesh.shard_map(|x: Tensor<f32>| x.gt(0.0).to_dyn().all_reduce_sum("x"), [["x"]], [["x"]]);
    assert_eq!(code(&flags.call((split.clone(),)).unwrap_err()), "tensor::dtype");

    let f = |x: Tensor<f32>| x;
    says(
        mesh.shard_map(f, [["x"], ["x"]], [["x"]]).call((split.clone(),)).unwrap_err(),
        &["2 partitions", "1 argument"],
    );
    says(
        mesh.shard_map(f, [["x"]], [["x"], ["x"]]).call((split.clone(),)).unwrap_err(),
        &["2 partitions", "1 result"],
    );
    says(
        mesh.shard_map(f, [["x"]], [["x"]]).call((x.clone(),)).unwrap_err(),
        &["tensor 0", "cpu:0"],
    );
    let error = jit(|x: Tensor<f32>, y: Tensor<f32>| x + y).call((split.clone(), x.clone()));
    assert_eq!(code(&error.unwrap_err()), "tensor::device");
    assert_eq!(code(&error_of(&(&split + &x))), "tensor::device");

    let shape = Mesh::shape([("x", 2)]).unwrap();
    says(error_of(&shape.shard(&x, ["x"])), &["no devices"]);
    says(error_of(&shape.shaped::<f32>([4], ["x"])), &["no devices"]);
    assert_eq!(code(&error_of(&mesh.shaped::<f32>([4], ["x"]))), "tensor::traced");
}

#[test]
fn split_programs_compile_for_many_chips() {
    for (side, topology) in [(2, "v5e:2x2"), (4, "v5e:4x4"), (16, "v5e:16x16")] {
        let mesh = Mesh::shape([("x", side), ("y", side)]).unwrap();
        let n = 256 * side;
        // Columns of `a` meet rows of `b`: XLA adds the sum over `y`.
        let auto = jit(|a: Tensor<bf16>, b: Tensor<bf16>| a.matmul(&b).partitioned(["x", ""]));
        let by_hand = mesh.shard_map(
            |a: Tensor<bf16>, b: Tensor<bf16>| a.matmul(&b).all_reduce_sum("y"),
            [["x", "y"], ["y", ""]],
            [["x", ""]],
        );
        let by_hand = jit(move |a: Tensor<bf16>, b: Tensor<bf16>| by_hand.call((a, b)));
        let args =
            (mesh.shaped::<bf16>([n, n], ["x", "y"]), mesh.shaped::<bf16>([n, n], ["y", ""]));
        for lowered in [auto.lower(&args).unwrap(), by_hand.lower(&args).unwrap()] {
            assert_eq!(lowered.n_partitions(), side * side);
            let report = lowered.compile_on("matmul", topology).unwrap();
            assert_eq!(report.n_partitions, side * side);
            let memory = report.memory.unwrap();
            // Of `a` a block, of `b` its rows, and a row of blocks of the result.
            let block = 2 * 256 * 256;
            assert_eq!(memory.argument_bytes, (block + block * side) as u64, "{topology}");
            assert_eq!(memory.output_bytes, (block * side) as u64, "{topology}");
            // An estimate, or the reason that there is none.
            assert!(report.cycles.is_some() || report.cycles_note.is_some());
            assert!(side == 16 || report.cycles.is_some(), "{:?}", report.cycles_note);
        }
    }
}
