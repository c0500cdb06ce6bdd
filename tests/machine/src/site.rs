//! The place all machines stand in: a depot that serves files over HTTP, and the metadata service at its real address,
//! which tells machines apart by theirs. It knows clouds and nothing of clusters.

use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
};

use axum::{
    Router,
    body::Bytes,
    extract::{ConnectInfo, State},
    http::{StatusCode, Uri},
    response::IntoResponse,
    routing::get,
};
use curfew_sandbox::{cloud::Cloud, programs::Programs};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::{enclosure::OUTSIDE, vm::Network};

/// What every row is played with.
pub(crate) struct Site {
    /// Controllers.
    pub(crate) programs: Programs,
    /// What `image/build` made.
    pub(crate) image: PathBuf,
    /// Of the virtual machines.
    pub(crate) network: Network,
    /// The agent's bytes, as the depot serves them.
    pub(crate) agent: Bytes,
    dir: TempDir,
    callers: Callers,
    next: AtomicU8,
}

/// Whose metadata is asked for, by address.
type Callers = Arc<Mutex<BTreeMap<IpAddr, (Arc<Cloud>, u64)>>>;

impl Site {
    /// Opens it. `image`: what `image/build` made.
    pub(crate) async fn open(agent: Vec<u8>, image: &Path) -> io::Result<Self> {
        let agent = Bytes::from(agent);
        let callers = Callers::default();
        serve((Ipv4Addr::from(OUTSIDE), DEPOT).into(), depot(agent.clone())).await?;
        serve((Ipv4Addr::new(169, 254, 169, 254), 80).into(), metadata(Arc::clone(&callers))).await?;
        Ok(Self {
            programs: Programs::own()?,
            image: image.to_owned(),
            network: Network::default(),
            agent,
            // In memory where there is room: a machine's disk is an overlay in here.
            dir: tempfile::Builder::new().prefix("curfew-machine-").tempdir_in("/dev/shm")?,
            callers,
            next: AtomicU8::new(2),
        })
    }

    /// Where rows keep their files.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// An address that no other machine has.
    pub(crate) fn next_address(&self) -> Ipv4Addr {
        let [a, b, c, _] = OUTSIDE;
        Ipv4Addr::new(a, b, c, self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// From now on whoever calls the metadata service from `address` is this server.
    pub(crate) fn register(&self, address: Ipv4Addr, cloud: &Arc<Cloud>, id: u64) {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        callers.insert(address.into(), (Arc::clone(cloud), id));
    }

    /// Address of a file of the depot: `agent`, `wrong` (other bytes), `hangs` (never answers); else 404. `closed`: of
    /// a port that nobody listens on.
    pub(crate) fn url(file: &str) -> String {
        let port = if file == "closed" { CLOSED } else { DEPOT };
        format!("http://{}:{port}/{file}", Ipv4Addr::from(OUTSIDE))
    }
}

async fn serve(address: SocketAddr, service: Router) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    let service = service.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await });
    Ok(())
}

fn depot(agent: Bytes) -> Router {
    let wrong: Bytes = agent.iter().rev().copied().collect();
    Router::new()
        .route("/agent", get(async || agent))
        .route("/wrong", get(async || wrong))
        .route("/hangs", get(async || std::future::pending::<()>().await))
}

fn metadata(callers: Callers) -> Router {
    Router::new().route("/{*path}", get(answer)).with_state(callers)
}

async fn answer(
    State(callers): State<Callers>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    uri: Uri,
) -> impl IntoResponse {
    let caller = callers.lock().unwrap_or_else(PoisonError::into_inner).get(&peer.ip()).cloned();
    let (status, text) = caller.map_or((404, String::new()), |(cloud, id)| cloud.metadata(id, uri.path()));
    (StatusCode::from_u16(status).unwrap_or_default(), text)
}

const DEPOT: u16 = 8000;
const CLOSED: u16 = 8001;
