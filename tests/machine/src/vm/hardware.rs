//! What the machine is made of: the command line of its hypervisor. Emulation, so that it runs anywhere: slowly.

use std::{ffi::OsString, path::Path};

use curfew_sandbox::machine::product_uuid;
use jiff::{SignedDuration, Timestamp, tz::TimeZone};

/// What its real-time clock says when it is switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rtc {
    /// The truth.
    Utc,
    /// The time of a zone three hours ahead, which the machine takes for the truth.
    LocalTime,
    /// 1970: its battery is dead.
    Dead,
}

impl Rtc {
    /// As QEMU's `-rtc base=` wants it.
    fn base(self, now: Timestamp) -> String {
        let zero = match self {
            Self::Utc => return "utc".into(),
            Self::LocalTime => now + AHEAD,
            Self::Dead => Timestamp::UNIX_EPOCH,
        };
        zero.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%S").to_string()
    }
}

/// One machine's own part of it.
pub(super) struct Hardware<'a> {
    /// Its id at the provider: the firmware's serial number.
    pub(super) server: u64,
    pub(super) rtc: Rtc,
    /// Its cable's other end.
    pub(super) tap: &'a str,
    /// Its network card's address.
    pub(super) mac: &'a str,
    /// What `image/build` made for it: never written to.
    pub(super) image: &'a Path,
    /// Where the sockets of its monitor and of its root channel are.
    pub(super) dir: &'a Path,
}

impl Hardware<'_> {
    /// Arguments of `qemu-system-x86_64`. The console is its standard output.
    pub(super) fn arguments(&self, now: Timestamp) -> Vec<OsString> {
        let Self { server, tap, mac, .. } = self;
        let image = |file: &str| self.image.join(file).display().to_string();
        let socket = |file: &str| self.dir.join(file).display().to_string();
        let options = [
            // `pc` and not `q35`, which suspends only once a boot.
            ("-machine", "pc".into()),
            ("-global", "PIIX4_PM.disable_s3=0".into()),
            ("-accel", "tcg,thread=multi".into()),
            ("-cpu", "qemu64".into()),
            ("-smp", "2".into()),
            ("-m", "512".into()),
            ("-rtc", format!("base={}", self.rtc.base(now))),
            (
                "-smbios",
                format!(
                    "type=1,manufacturer=Hetzner,product=vServer,serial={server},uuid={}",
                    product_uuid(*server)
                ),
            ),
            ("-kernel", image("vmlinuz")),
            ("-initrd", image("initrd")),
            ("-append", KERNEL.into()),
            // Writes live as long as the hypervisor: over every reboot, and no longer.
            ("-drive", format!("file={},format=raw,if=virtio,snapshot=on", image("root.img"))),
            ("-netdev", format!("tap,id=net,ifname={tap},script=no,downscript=no")),
            ("-device", format!("virtio-net-pci,netdev=net,mac={mac},romfile=")),
            ("-device", "virtio-rng-pci".into()),
            ("-device", "virtio-serial-pci".into()),
            ("-chardev", format!("socket,id=guest,path={},server=on,wait=off", socket(GUEST))),
            ("-device", "virtserialport,chardev=guest,name=curfew".into()),
            ("-serial", "file:/dev/stdout".into()),
            ("-qmp", format!("unix:{},server=on,wait=off", socket(MONITOR))),
        ];
        let bare = ["-nodefaults", "-no-user-config", "-display", "none"].map(OsString::from);
        bare.into_iter()
            .chain(options.into_iter().flat_map(|(name, value)| [name.into(), value.into()]))
            .collect()
    }
}

/// Sockets, in the machine's directory.
pub(super) const MONITOR: &str = "monitor";
pub(super) const GUEST: &str = "guest";

const KERNEL: &str = "console=ttyS0 quiet panic=-1 net.ifnames=0 mitigations=off";

const AHEAD: SignedDuration = SignedDuration::from_hours(3);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_in_local_time_is_three_hours_ahead_and_a_dead_one_says_1970() {
        let now = "2026-11-30T22:30:00Z".parse().unwrap();
        assert_eq!(Rtc::Utc.base(now), "utc");
        assert_eq!(Rtc::LocalTime.base(now), "2026-12-01T01:30:00");
        assert_eq!(Rtc::Dead.base(now), "1970-01-01T00:00:00");
    }
}
