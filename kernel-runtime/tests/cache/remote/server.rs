//! As much of S3 as a cache needs, and ways in which it can fail.
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use systole::cache::{RemoteCache, RemoteOptions};

/// How the server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    Well,
    /// Takes the request and never answers.
    Silent,
    /// Answers every request with this status.
    Status(u16),
    /// Flips a bit in each object that it gives.
    Corrupt,
    /// Gives half of each object and hangs up.
    HangsUp,
    /// Answers what is no HTTP.
    Babbles,
}

/// A server at a port of its own, until the process ends.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    mood: Mood,
    objects: HashMap<String, Vec<u8>>,
    /// Method and path of every request, with whether it was signed.
    requests: Vec<(String, String, bool)>,
}

impl Server {
    pub(crate) fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = State { mood: Mood::Well, objects: HashMap::new(), requests: Vec::new() };
        let server = Server { port, state: Arc::new(Mutex::new(state)) };
        let serving = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = serving.clone();
                std::thread::spawn(move || server.serve(stream));
            }
        });
        server
    }

    /// The same server if it were at this port.
    pub(crate) fn at_port(&self, port: u16) -> Server {
        Server { port, state: self.state.clone() }
    }

    pub(crate) fn set(&self, mood: Mood) {
        self.state.lock().unwrap().mood = mood;
    }

    pub(crate) fn requests(&self) -> Vec<(String, String, bool)> {
        self.state.lock().unwrap().requests.clone()
    }

    pub(crate) fn objects(&self) -> Vec<String> {
        let mut names: Vec<String> = self.state.lock().unwrap().objects.keys().cloned().collect();
        names.sort();
        names
    }

    /// The cache at `s3://bucket/prefix` or `gs://bucket/prefix` of this server.
    pub(crate) fn open(&self, url: &str, time_limit_ms: u64) -> RemoteCache {
        let endpoint = format!("http://127.0.0.1:{}", self.port);
        let settings: &[(&str, &str)] = match url.starts_with("gs://") {
            true => &[("google_base_url", &endpoint), ("google_bearer_token", "token")],
            false => &[
                ("aws_endpoint", &endpoint),
                ("AWS_ACCESS_KEY_ID", "key"),
                ("aws_secret_access_key", "secret"),
                ("aws_region", "nowhere"),
                ("aws_allow_http", "true"),
            ],
        };
        let mut options = RemoteOptions::default();
        options.time_limit = std::time::Duration::from_millis(time_limit_ms);
        options.settings = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        RemoteCache::open(url, options)
    }

    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut writer = stream;
        // A client keeps the connection for further requests.
        while let Some((method, path, signed, body)) = read_request(&mut reader) {
            let mood = {
                let mut state = self.state.lock().unwrap();
                state.requests.push((method.clone(), path.clone(), signed));
                state.mood
            };
            let answer = match (mood, method.as_str()) {
                (Mood::Silent, _) => loop {
                    std::thread::park();
                },
                (Mood::Babbles, _) => b"no HTTP at all\r\n\r\n".to_vec(),
                (Mood::Status(status), _) => answer(status, b"<Error/>"),
                (_, "PUT") => {
                    self.state.lock().unwrap().objects.insert(path, body);
                    answer(200, b"")
                }
                (_, "GET" | "HEAD") => self.give(&path, method == "HEAD", mood),
                _ => answer(400, b""),
            };
            if writer.write_all(&answer).is_err() || mood == Mood::HangsUp {
                return;
            }
        }
    }

    fn give(&self, path: &str, head_only: bool, mood: Mood) -> Vec<u8> {
        let object = self.state.lock().unwrap().objects.get(path).cloned();
        let Some(mut object) = object else { return answer(404, b"<Error/>") };
        if mood == Mood::Corrupt {
            let middle = object.len() / 2;
            object[middle] ^= 1;
        }
        let whole = answer(200, &object);
        match (head_only, mood) {
            (true, _) => whole[..whole.len() - object.len()].to_vec(),
            (_, Mood::HangsUp) => whole[..whole.len() - object.len() / 2].to_vec(),
            _ => whole,
        }
    }
}

fn answer(status: u16, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status} x\r\ncontent-length: {}\r\netag: \"x\"\r\n\
         last-modified: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Method, path, whether it is signed, and body; `None` at the end of the connection.
fn read_request(reader: &mut impl BufRead) -> Option<(String, String, bool, Vec<u8>)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&n| n > 0)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    // Names are the same however they are spelled.
    let path = target.split('?').next()?.replace("%2F", "/");
    let (mut n_bytes, mut signed) = (0, false);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => n_bytes = value.trim().parse().ok()?,
            "authorization" => {
                signed = value.contains("AWS4-HMAC-SHA256") || value.contains("Bearer token");
            }
            _ => {}
        }
    }
    let mut body = vec![0; n_bytes];
    reader.read_exact(&mut body).ok()?;
    Some((method, path, signed, body))
}
