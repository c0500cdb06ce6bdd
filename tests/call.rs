//! One call of the cloud's API as somebody makes it who is no part of curfew.

use curfew_sandbox::cloud::Cloud;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Makes it, and returns the body of the answer, whatever its status.
pub async fn call(
    cloud: &Cloud,
    token: &str,
    method: &str,
    path: &str,
    body: &str,
) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
    let endpoint = cloud.endpoint();
    let address = endpoint.trim_start_matches("http://").trim_end_matches("/v1");
    let mut stream = TcpStream::connect(address).await?;
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: cloud\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (_, body) = answer.split_once("\r\n\r\n").ok_or("an answer without a body")?;
    Ok(serde_json::from_str(body)?)
}
