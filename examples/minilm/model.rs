//! all-MiniLM-L6-v2 (Wang et al., 2020; fine-tuned by sentence-transformers), whole.

use crate::kernels;
use safetensors::SafeTensors;
use std::error::Error;
use systole::diag::Diagnostics;
use systole::ir::{Array, DType};
use systole::run::{DynTensor, Tensor};
use tokenizers::Tokenizer;

const HEADS: usize = 12;
const N_LAYERS: usize = 6;
/// Added to the scores of keys that are padding.
const MASKED: f32 = -1e30;

/// Whether the model computes with kernels, or with standard ops alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Parts {
    /// Attention, norms and the wide layer are kernels.
    Kernels,
    /// Everything is left to XLA.
    Standard,
}

/// Sentences as the model takes them.
#[derive(Clone)]
pub(crate) struct Batch {
    /// Token numbers, `[b, s]`, padded with 0.
    pub(crate) ids: Tensor<i32>,
    /// Tokens per sentence, `[b]`.
    pub(crate) lengths: Tensor<i32>,
}

/// A dense layer: weight `[out, in]`, bias `[out]`.
struct Linear {
    weight: Tensor<f32>,
    bias: Tensor<f32>,
}

/// A layer norm.
struct Norm {
    weight: Tensor<f32>,
    bias: Tensor<f32>,
}

struct Layer {
    q: Linear,
    k: Linear,
    v: Linear,
    out: Linear,
    attention_norm: Norm,
    up: Linear,
    down: Linear,
    norm: Norm,
}

/// The model with its weights on the current device.
pub(crate) struct MiniLm {
    words: Tensor<f32>,
    positions: Tensor<f32>,
    types: Tensor<f32>,
    norm: Norm,
    layers: Vec<Layer>,
    tokenizer: Tokenizer,
}

impl MiniLm {
    /// Loads what `./x setup` fetched.
    pub(crate) fn load() -> Result<MiniLm, Box<dyn Error>> {
        let folder = systole::pjrt::cache_dir().join("model/all-MiniLM-L6-v2");
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read(&path)
                .map_err(|error| format!("cannot read {}: {error}; run ./x setup", path.display()))
        };
        let bytes = read("model.safetensors")?;
        let file = SafeTensors::deserialize(&bytes)?;
        let tensor = |name: String| -> Result<Tensor<f32>, Box<dyn Error>> {
            let view = file.tensor(&name)?;
            let array = Array::from_bytes(DType::F32, view.shape(), view.data())?;
            Ok(DynTensor::from_array(array).typed()?)
        };
        let linear = |name: String| -> Result<Linear, Box<dyn Error>> {
            Ok(Linear {
                weight: tensor(format!("{name}.weight"))?,
                bias: tensor(format!("{name}.bias"))?,
            })
        };
        let norm = |name: String| -> Result<Norm, Box<dyn Error>> {
            Ok(Norm {
                weight: tensor(format!("{name}.weight"))?,
                bias: tensor(format!("{name}.bias"))?,
            })
        };
        let layer = |idx: usize| -> Result<Layer, Box<dyn Error>> {
            let at = format!("encoder.layer.{idx}");
            Ok(Layer {
                q: linear(format!("{at}.attention.self.query"))?,
                k: linear(format!("{at}.attention.self.key"))?,
                v: linear(format!("{at}.attention.self.value"))?,
                out: linear(format!("{at}.attention.output.dense"))?,
                attention_norm: norm(format!("{at}.attention.output.LayerNorm"))?,
                up: linear(format!("{at}.intermediate.dense"))?,
                down: linear(format!("{at}.output.dense"))?,
                norm: norm(format!("{at}.output.LayerNorm"))?,
            })
        };
        let table = |name: &str| tensor(format!("embeddings.{name}_embeddings.weight"));
        let tokenizer =
            Tokenizer::from_bytes(read("tokenizer.json")?).map_err(|e| e.to_string())?;
        Ok(MiniLm {
            words: table("word")?,
            positions: table("position")?,
            types: table("token_type")?,
            norm: norm("embeddings.LayerNorm".to_owned())?,
            layers: (0..N_LAYERS).map(layer).collect::<Result<_, _>>()?,
            tokenizer,
        })
    }

    /// Sentences as a batch of this many tokens each; longer ones are cut.
    pub(crate) fn batch(&self, sentences: &[&str], s: usize) -> Result<Batch, Box<dyn Error>> {
        let mut ids = Vec::with_capacity(sentences.len() * s);
        let mut lengths = Vec::with_capacity(sentences.len());
        for &sentence in sentences {
            let encoding =
                self.tokenizer.encode(sentence, true).map_err(|error| error.to_string())?;
            let mask = encoding.get_attention_mask();
            let used = encoding.get_ids().iter().zip(mask).filter(|(_, mask)| **mask != 0);
            let mut row: Vec<i32> = used.map(|(id, _)| *id as i32).take(s).collect();
            lengths.push(row.len() as i32);
            row.resize(s, 0);
            ids.extend(row);
        }
        Ok(Batch {
            ids: Tensor::from_slice(&ids, [sentences.len(), s])?,
            lengths: Tensor::from_slice(&lengths, [sentences.len()])?,
        })
    }

    /// Embeddings of the sentences, `[b, 384]`, each of length 1.
    pub(crate) fn embed(&self, batch: &Batch, parts: Parts) -> Result<Tensor<f32>, Diagnostics> {
        self.encode(&self.look_up(batch), batch, parts)
    }

    /// What the tables say of each token and its place, `[b, s, width]`.
    fn look_up(&self, batch: &Batch) -> Tensor<f32> {
        let places = Tensor::<i32>::arange(batch.ids.shape()[1]);
        let places =
            self.positions.take(&places, 0) + self.types.take(&Tensor::<i32>::zeros([1]), 0);
        self.words.take(&batch.ids, 0) + places
    }

    /// Embeddings of sentences that are looked up already.
    fn encode(
        &self,
        x: &Tensor<f32>,
        batch: &Batch,
        parts: Parts,
    ) -> Result<Tensor<f32>, Diagnostics> {
        let (b, s, width) = (x.shape()[0], x.shape()[1], x.shape()[2]);
        let real = Tensor::<i32>::iota([b, s], 1).lt(batch.lengths.reshape([b, 1])); // [b, s]
        let bias = real.select(&Tensor::zeros([b, s]), MASKED).reshape([b, 1, s]);
        let mut x = self.norm.apply(&x.reshape([b * s, width]), parts)?;
        for layer in &self.layers {
            x = layer.apply(&x, &bias, parts)?;
        }
        let weights = real.cast::<f32>().reshape([b, s, 1]);
        let sum = (x.reshape([b, s, width]) * weights).sum(&[1]); // [b, width]
        let mean = sum / batch.lengths.cast::<f32>().reshape([b, 1]);
        let size = (&mean * &mean).sum(&[1]).sqrt().reshape([b, 1]);
        (mean / size.max(1e-12)).check()
    }
}

impl Layer {
    /// `x` is `[b * s, width]`, `bias` `[b, 1, s]`.
    fn apply(
        &self,
        x: &Tensor<f32>,
        bias: &Tensor<f32>,
        parts: Parts,
    ) -> Result<Tensor<f32>, Diagnostics> {
        let (b, s, width) = (bias.shape()[0], bias.shape()[2], x.shape()[1]);
        let project = |linear: &Linear| linear.apply(x).reshape([b, s, width]);
        let (q, k, v) = (project(&self.q), project(&self.k), project(&self.v));
        let attended = match parts {
            Parts::Kernels => kernels::attend(HEADS, [&q, &k, &v], bias)?,
            Parts::Standard => attend_standard([&q, &k, &v], bias),
        };
        let attended = self.out.apply(&attended.reshape([b * s, width]));
        let x = self.attention_norm.apply(&(attended + x), parts)?;
        let wide = match parts {
            Parts::Kernels => kernels::dense_gelu(&x, &self.up.weight, &self.up.bias)?,
            Parts::Standard => gelu(&self.up.apply(&x)),
        };
        self.norm.apply(&(self.down.apply(&wide) + x), parts)
    }
}

impl Linear {
    /// `x w^T + bias` for `x` `[m, in]`.
    fn apply(&self, x: &Tensor<f32>) -> Tensor<f32> {
        x.dot_general(&self.weight, (&[1], &[1]), (&[], &[])) + &self.bias
    }
}

impl Norm {
    fn apply(&self, x: &Tensor<f32>, parts: Parts) -> Result<Tensor<f32>, Diagnostics> {
        match parts {
            Parts::Kernels => kernels::norm(x, &self.weight, &self.bias),
            Parts::Standard => {
                let mean = x.mean(&[1]).expand_dims(1);
                let centered = x - mean;
                let variance = (&centered * &centered).mean(&[1]).expand_dims(1);
                (centered * (variance + 1e-12).rsqrt() * &self.weight + &self.bias).check()
            }
        }
    }
}

fn gelu(x: &Tensor<f32>) -> Tensor<f32> {
    x * 0.5 * ((x * std::f32::consts::FRAC_1_SQRT_2).erf() + 1.0)
}

/// Attention in standard ops.
fn attend_standard([q, k, v]: [&Tensor<f32>; 3], bias: &Tensor<f32>) -> Tensor<f32> {
    let (b, s, width) = (q.shape()[0], q.shape()[1], q.shape()[2]);
    let d = width / HEADS;
    let split = |x: &Tensor<f32>| x.reshape([b, s, HEADS, d]).transpose(&[0, 2, 1, 3]);
    let (q, k, v) = (split(q), split(k), split(v)); // [b, h, s, d]
    let scores = q.matmul(&k.swap_axes(-1, -2)) * (1.0 / (d as f32).sqrt());
    let scores = scores + bias.expand_dims(1); // [b, h, s, s]
    let e = (&scores - scores.reduce_max(&[-1]).expand_dims(-1)).exp();
    let weights = &e / e.sum(&[-1]).expand_dims(-1);
    weights.matmul(&v).transpose(&[0, 2, 1, 3]).reshape([b, s, width])
}
