//! A web server that behaves, or does not.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// What is answered at a path.
#[derive(Clone)]
pub(crate) enum Answer {
    Bytes(Vec<u8>),
    /// Once, and then not any more.
    Once(Vec<u8>),
    /// The first half, and then nothing but the end of the connection.
    Half(Vec<u8>),
    /// Accepts, and never answers.
    Hang,
}

/// Listens on loopback until the process ends.
pub(crate) struct Mirror {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Mirror {
    pub(crate) fn with(answers: impl IntoIterator<Item = (&'static str, Answer)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let answers: Arc<Mutex<HashMap<_, _>>> = Arc::new(Mutex::new(answers.into_iter().collect()));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answers, heard) = (Arc::clone(&answers), Arc::clone(&heard));
                thread::spawn(move || answer(&stream, &answers, &heard));
            }
        });
        Self { port, asked }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// The paths asked for so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(mut stream: &TcpStream, answers: &Mutex<HashMap<&str, Answer>>, heard: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let path = lines.next().and_then(|line| Some(line.split(' ').nth(1)?.trim_matches('/').to_owned()));
    let path = path.unwrap_or_default();
    lines.find(String::is_empty);
    heard.lock().unwrap().push(path.clone());
    let found = {
        let mut answers = answers.lock().unwrap();
        let found = answers.get(path.as_str()).cloned();
        if let Some(Answer::Once(_)) = found {
            answers.remove(path.as_str());
        }
        found
    };
    let (bytes, sent) = match found {
        None => {
            let none = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            return drop(stream.write_all(none.as_bytes()));
        }
        Some(Answer::Hang) => loop {
            thread::park();
        },
        Some(Answer::Half(bytes)) => (bytes.clone(), bytes.len() / 2),
        Some(Answer::Bytes(bytes) | Answer::Once(bytes)) => (bytes.clone(), bytes.len()),
    };
    let status = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len());
    drop(stream.write_all(status.as_bytes()).and_then(|()| stream.write_all(&bytes[..sent])));
}
