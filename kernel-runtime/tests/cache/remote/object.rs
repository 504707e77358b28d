//! An object store, well and ill.
use super::server::{Mood, Server};
use super::{fill, found, key};
use std::time::{Duration, Instant};

/// Long enough on the busiest machine.
const AMPLE_MS: u64 = 60_000;

#[test]
fn machines_find_what_others_stored() {
    for (url, base) in [
        ("s3://bucket/some/prefix/", "/bucket/some/prefix/"),
        ("s3://bucket", "/bucket/"),
        ("gs://bucket/prefix", "/bucket/prefix/"),
    ] {
        let server = Server::start();
        let (one, other) = (server.open(url, AMPLE_MS), server.open(url, AMPLE_MS));
        assert!(!found(&other, &key(0)), "{:?}", other.problem());
        fill(&one, 8);
        assert!((0..8).all(|n| found(&other, &key(n))), "{:?}", one.problem());
        let (wrote, read) = (one.counters(), other.counters());
        assert_eq!((wrote.stored, wrote.failures), (8, 0), "{:?}", one.problem());
        assert_eq!((read.hits, read.misses, read.failures), (8, 1, 0), "{:?}", other.problem());
        assert_eq!(wrote.bytes_written, read.bytes_read);
        let text = key(0).to_string();
        let object = format!("{base}{}/{}", &text[..2], &text[2..]);
        assert!(server.objects().contains(&object), "{object}: {:?}", server.objects());
        assert!(server.requests().iter().all(|(_, _, signed)| *signed));
    }
}

#[test]
fn many_threads_share_the_connections() {
    let server = Server::start();
    let cache = server.open("s3://bucket", AMPLE_MS);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let cache = &cache;
            scope.spawn(move || {
                for n in 0..20 {
                    if !found(cache, &key(n)) {
                        cache.put(&key(n), &super::value(&key(n), 5000));
                    }
                    found(cache, &key((n * 7 + thread) % 20));
                }
            });
        }
    });
    assert!(cache.flush());
    assert!((0..20).all(|n| found(&cache, &key(n))));
    assert_eq!((cache.counters().failures, cache.counters().damaged), (0, 0));
}

#[test]
fn whatever_the_store_does_a_value_is_right_or_not_there() {
    let cases = [
        (Mood::Silent, 200, "no answer within 0.2 s"),
        (Mood::Status(500), AMPLE_MS, "500"),
        (Mood::Status(503), AMPLE_MS, "503"),
        (Mood::Status(403), AMPLE_MS, "403"),
        (Mood::HangsUp, AMPLE_MS, ""),
        (Mood::Babbles, AMPLE_MS, ""),
    ];
    for (mood, limit_ms, part) in cases {
        let server = Server::start();
        fill(&server.open("s3://bucket", AMPLE_MS), 2);
        let cache = server.open("s3://bucket", limit_ms);
        server.set(mood);
        for n in 0..3 {
            assert!(!found(&cache, &key(n % 2)), "{mood:?}");
        }
        let problem = cache.problem().unwrap();
        assert!(problem.contains(part) && problem.contains("s3://bucket"), "{mood:?}: {problem}");
        let counters = cache.counters();
        assert_eq!((counters.failures, counters.damaged), (3, 0), "{mood:?}: {problem}");
        assert_eq!(counters.timeouts, if mood == Mood::Silent { 3 } else { 0 });
        // It is left alone now, well or not.
        let n_requests = server.requests().len();
        server.set(Mood::Well);
        assert!(!found(&cache, &key(0)));
        cache.put(&key(5), b"value");
        assert!(cache.flush());
        assert_eq!((server.requests().len(), cache.counters().skipped), (n_requests, 2));
        // Others find it as it was.
        assert!(found(&server.open("s3://bucket", AMPLE_MS), &key(1)));
    }
}

#[test]
fn the_end_of_a_thread_waits_for_a_silent_store_no_longer_than_the_limit() {
    let server = Server::start();
    server.set(Mood::Silent);
    let cache = server.open("s3://bucket", 200);
    let giver = cache.clone();
    let start = Instant::now();
    std::thread::spawn(move || giver.put(&key(0), b"value")).join().unwrap();
    // To store it may itself take a minute.
    assert!(start.elapsed() < Duration::from_secs(40));
    assert!(!cache.flush());
    assert_eq!(cache.counters().stored, 0);
}

#[test]
fn corrupt_bytes_are_replaced() {
    let server = Server::start();
    let cache = server.open("s3://bucket", AMPLE_MS);
    fill(&cache, 1);
    server.set(Mood::Corrupt);
    assert!(!found(&cache, &key(0)));
    let counters = cache.counters();
    assert_eq!((counters.damaged, counters.failures, counters.misses), (1, 0, 1));
    server.set(Mood::Well);
    fill(&cache, 1);
    assert!(found(&cache, &key(0)));
}

#[test]
fn a_server_that_is_not_there_or_a_setting_that_is_not_known_is_told() {
    let server = Server::start();
    let unknown = systole::cache::RemoteCache::open("s3://bucket", {
        let mut options = systole::cache::RemoteOptions::default();
        options.settings.push(("aws_colour".into(), "red".into()));
        options
    });
    assert_eq!(unknown.get(&key(0)), None);
    assert!(unknown.problem().unwrap().contains("no setting `aws_colour`"));
    // Nobody listens at a port that was just given back.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let gone = server.at_port(port).open("s3://bucket", AMPLE_MS);
    assert_eq!(gone.get(&key(0)), None);
    assert_eq!((gone.counters().failures, gone.counters().timeouts), (1, 0));
}
