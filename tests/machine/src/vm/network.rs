//! The virtual machines' side of the site's bridge: a tap for each, and addresses by DHCP, as a cloud has it.

use std::{
    io,
    net::Ipv4Addr,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
};

use crate::{
    container::succeed,
    enclosure::{BRIDGE, OUTSIDE},
};

/// The DHCP server, once there is a machine that asks.
#[derive(Default)]
pub(crate) struct Network(Mutex<Option<Child>>);

impl Network {
    /// Plugs a cable in. Returns the hardware address by which the machine gets its own.
    pub(super) fn plug(&self, name: &str, address: Ipv4Addr, dir: &Path) -> io::Result<String> {
        self.serve(dir)?;
        succeed(Command::new("ip").args(["tuntap", "add", "dev", name, "mode", "tap"]))?;
        succeed(Command::new("ip").args(["link", "set", name, "master", BRIDGE, "up"]))?;
        let [.., last] = address.octets();
        Ok(hardware(last))
    }

    fn serve(&self, dir: &Path) -> io::Result<()> {
        let mut server = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if server.is_some() {
            return Ok(());
        }
        let [a, b, c, _] = OUTSIDE;
        let hosts = dir.join("dhcp-hosts");
        let all: Vec<String> =
            (2..=254).map(|last| format!("{},{a}.{b}.{c}.{last}", hardware(last))).collect();
        std::fs::write(&hosts, all.join("\n"))?;
        let child = Command::new("dnsmasq")
            .args([
                "--keep-in-foreground",
                "--conf-file=/dev/null",
                "--user=root",
                "--port=0",
                "--log-facility=-",
            ])
            .args([
                "--no-ping",
                "--leasefile-ro",
                "--dhcp-authoritative",
                "--bind-interfaces",
                "--dhcp-ignore-names",
            ])
            .arg(format!("--interface={BRIDGE}"))
            .arg(format!("--dhcp-range={a}.{b}.{c}.2,static,255.255.255.0,1h"))
            .arg(format!("--dhcp-hostsfile={}", hosts.display()))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        *server = Some(child);
        drop(server);
        Ok(())
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        if let Some(server) = self.0.get_mut().unwrap_or_else(PoisonError::into_inner) {
            // Both fail only if it has ended by itself.
            drop(server.kill());
            drop(server.wait());
        }
    }
}

/// A hardware address, locally administered, for the address that ends so.
fn hardware(last: u8) -> String {
    format!("52:54:00:88:00:{last:02x}")
}
