//! Many kernels as one program for libtpu.

use std::fmt::Write;

/// A program whose `@main` calls every one of these modules' and gives all their results.
pub(crate) fn of(modules: &[String]) -> String {
    let (mut functions, mut body) = (String::new(), String::new());
    let (mut args, mut results, mut types) = (Vec::new(), Vec::new(), Vec::new());
    for (idx, module) in modules.iter().enumerate() {
        let start = module.find("func.func").unwrap();
        let function = module[start..].strip_suffix("}\n").unwrap();
        let name = format!("func.func private @k{idx}(");
        functions.push_str(&function.replacen("func.func public @main(", &name, 1));
        let (_, signature) = function.split_once("@main(").unwrap();
        let (parameters, signature) = signature.split_once(") -> ").unwrap();
        let (result, _) = signature.split_once(" {\n").unwrap();
        let own: Vec<&str> =
            parameters.split(", ").filter_map(|p| Some(p.split_once(": ")?.1)).collect();
        let gives: Vec<&str> = result.trim_matches(['(', ')']).split(", ").collect();
        let names: Vec<String> = (0..own.len()).map(|arg| format!("%a{idx}_{arg}")).collect();
        args.extend(names.iter().zip(&own).map(|(name, ty)| format!("{name}: {ty}")));
        let n = gives.len();
        let (own, result) = (own.join(", "), result.to_owned());
        let _ = writeln!(
            body,
            "%r{idx}:{n} = func.call @k{idx}({}) : ({own}) -> {result}",
            names.join(", ")
        );
        results.extend((0..n).map(|result| format!("%r{idx}#{result}")));
        types.extend(gives.iter().map(|ty| (*ty).to_owned()));
    }
    format!(
        "module @kernels {{\n{functions}\nfunc.func public @main({}) -> ({}) {{\n{body}return {} : {}\n}}\n}}\n",
        args.join(", "),
        types.join(", "),
        results.join(", "),
        types.join(", ")
    )
}
