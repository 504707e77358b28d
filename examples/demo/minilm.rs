//! all-MiniLM-L6-v2: its weights, its tokenizer, and the attention half of its first layer.

use crate::engine::Engine;
use safetensors::SafeTensors;
use std::error::Error;
use systole::ir::{Array, DType};
use tokenizers::Tokenizer;

const HEADS: usize = 12;

/// The model's file and its tokenizer.
pub(crate) struct MiniLm {
    weights: Vec<u8>,
    tokenizer: Tokenizer,
}

/// What the attention half of a layer makes on its way.
pub(crate) struct Layer {
    pub(crate) q: Array,
    pub(crate) attention: Array,
    pub(crate) output: Array,
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
        let tokenizer =
            Tokenizer::from_bytes(read("tokenizer.json")?).map_err(|e| e.to_string())?;
        Ok(MiniLm { weights: read("model.safetensors")?, tokenizer })
    }

    fn tensor(&self, name: &str) -> Result<Array, Box<dyn Error>> {
        let file = SafeTensors::deserialize(&self.weights)?;
        let view = file.tensor(name)?;
        Ok(Array::from_bytes(DType::F32, view.shape(), view.data())?)
    }

    /// Token, position and type embeddings of a sentence, `[tokens, 384]`, before their norm.
    pub(crate) fn embed(&self, sentence: &str) -> Result<Array, Box<dyn Error>> {
        let encoding = self.tokenizer.encode(sentence, true).map_err(|error| error.to_string())?;
        let mask = encoding.get_attention_mask();
        let used = encoding.get_ids().iter().zip(mask).filter(|(_, mask)| **mask != 0);
        let ids: Vec<usize> = used.map(|(id, _)| *id as usize).collect();
        let table = |name: &str| self.tensor(&format!("embeddings.{name}_embeddings.weight"));
        let (words, positions, types) = (table("word")?, table("position")?, table("token_type")?);
        let width = words.shape()[1];
        let (words, positions, types) = (words.to_f32(), positions.to_f32(), types.to_f32());
        let mut rows = Vec::with_capacity(ids.len() * width);
        for (position, id) in ids.iter().enumerate() {
            let word = &words[id * width..][..width];
            let place = &positions[position * width..][..width];
            rows.extend((0..width).map(|i| word[i] + place[i] + types[i]));
        }
        Ok(Array::from_f32(&[ids.len(), width], rows)?)
    }

    /// The embeddings' norm, then layer 0 up to the norm after its attention.
    pub(crate) fn attention_block(
        &self,
        engine: &Engine,
        x: &Array,
    ) -> Result<Layer, Box<dyn Error>> {
        let x = self.norm(engine, "embeddings.LayerNorm", x)?;
        let layer = "encoder.layer.0.attention";
        let project = |name: &str| self.linear(engine, &format!("{layer}.self.{name}"), &x);
        let (q, k, v) = (project("query")?, project("key")?, project("value")?);
        let qkv = [split_heads(&q)?, split_heads(&k)?, split_heads(&v)?];
        let attention = merge_heads(&engine.attention(qkv)?)?;
        let dense = self.linear(engine, &format!("{layer}.output.dense"), &attention)?;
        let sum = add(&dense, &x)?;
        let output = self.norm(engine, &format!("{layer}.output.LayerNorm"), &sum)?;
        Ok(Layer { q, attention, output })
    }

    fn linear(&self, engine: &Engine, name: &str, x: &Array) -> Result<Array, Box<dyn Error>> {
        let product = engine.matmul(x, &self.tensor(&format!("{name}.weight"))?)?;
        let bias = self.tensor(&format!("{name}.bias"))?;
        let rows: Vec<f32> = bias.to_f32().repeat(product.shape()[0]);
        add(&product, &Array::from_f32(product.shape(), rows)?)
    }

    fn norm(&self, engine: &Engine, name: &str, x: &Array) -> Result<Array, Box<dyn Error>> {
        let weight = self.tensor(&format!("{name}.weight"))?;
        engine.layer_norm(x, &weight, &self.tensor(&format!("{name}.bias"))?)
    }
}

fn add(x: &Array, y: &Array) -> Result<Array, Box<dyn Error>> {
    let sum = x.to_f32().iter().zip(y.to_f32()).map(|(x, y)| x + y).collect();
    Ok(Array::from_f32(x.shape(), sum)?)
}

/// `[s, h d]` to `[1, h, s, d]`.
fn split_heads(x: &Array) -> Result<Array, Box<dyn Error>> {
    let (s, width) = (x.shape()[0], x.shape()[1]);
    let (d, values) = (width / HEADS, x.to_f32());
    let at = |h: usize, row: usize, i: usize| values[row * width + h * d + i];
    let all = (0..HEADS).flat_map(|h| (0..s).flat_map(move |row| (0..d).map(move |i| (h, row, i))));
    Ok(Array::from_f32(&[1, HEADS, s, d], all.map(|(h, row, i)| at(h, row, i)).collect())?)
}

/// `[1, h, s, d]` to `[s, h d]`.
fn merge_heads(x: &Array) -> Result<Array, Box<dyn Error>> {
    let (h, s, d) = (x.shape()[1], x.shape()[2], x.shape()[3]);
    let values = x.to_f32();
    let all = (0..s).flat_map(|row| (0..h).flat_map(move |h| (0..d).map(move |i| (h, row, i))));
    let merged = all.map(|(head, row, i)| values[(head * s + row) * d + i]).collect();
    Ok(Array::from_f32(&[s, h * d], merged)?)
}
