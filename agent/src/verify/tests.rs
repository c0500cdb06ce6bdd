use std::os::unix::fs::symlink;

use super::*;
use crate::args::Options;

/// The least ELF file there is: a header and one program header of type `kind`.
fn elf(machine: u8, kind: u8) -> Vec<u8> {
    let mut bytes = vec![0; 120];
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    (bytes[18], bytes[32], bytes[54], bytes[56], bytes[64]) = (machine, 64, 56, 1, kind);
    bytes
}

fn machine() -> u8 {
    u8::try_from(THIS_MACHINE).unwrap()
}

/// An image that passes.
fn image() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    for dir in [
        "usr/local/bin",
        "etc/systemd/system/multi-user.target.wants",
        "etc/systemd/system/timers.target.wants",
    ] {
        fs::create_dir_all(path(dir)).unwrap();
    }
    fs::write(path("usr/local/bin/curfew-agent"), elf(machine(), 1)).unwrap();
    fs::write(path("etc/machine-id"), "").unwrap();
    fs::write(path("etc/systemd/system/curfew-backstop.service"), "").unwrap();
    for (unit, target) in [("curfew-agent.service", "multi-user"), ("curfew-backstop.timer", "timers")] {
        fs::write(path("etc/systemd/system").join(unit), "").unwrap();
        symlink(format!("../{unit}"), path(&format!("etc/systemd/system/{target}.target.wants/{unit}")))
            .unwrap();
    }
    root
}

fn fault(root: &Path, options: &Options) -> Option<u8> {
    let (config, complaints) = Config::from_options(options);
    first_fault(&inspect(root, &config, &complaints)).map(|fault| fault as u8)
}

#[test]
fn a_good_image_passes() {
    assert_eq!(fault(image().path(), &Options::default()), None);
}

#[test]
fn each_fault_has_its_own_exit_code() {
    type Break = fn(&Path);
    let breaks: [(u8, Break); 11] = [
        (10, |root| fs::remove_file(root.join("usr/local/bin/curfew-agent")).unwrap()),
        (15, |root| fs::remove_file(root.join("etc/systemd/system/curfew-backstop.service")).unwrap()),
        (10, |root| fs::write(root.join("usr/local/bin/curfew-agent"), "#!/bin/sh").unwrap()),
        (10, |root| fs::write(root.join("usr/local/bin/curfew-agent"), &elf(machine(), 1)[..60]).unwrap()),
        (11, |root| fs::write(root.join("usr/local/bin/curfew-agent"), elf(machine(), 3)).unwrap()),
        (12, |root| fs::write(root.join("usr/local/bin/curfew-agent"), elf(40, 1)).unwrap()),
        (14, |root| fs::remove_file(root.join("etc/systemd/system/curfew-agent.service")).unwrap()),
        (14, |root| {
            fs::remove_file(root.join("etc/systemd/system/multi-user.target.wants/curfew-agent.service"))
                .unwrap();
        }),
        (15, |root| fs::remove_file(root.join("etc/systemd/system/curfew-backstop.timer")).unwrap()),
        (16, |root| fs::write(root.join("etc/machine-id"), "b08dfa6083e7567a1921a715000001fb\n").unwrap()),
        (17, |root| {
            fs::create_dir_all(root.join("var/lib/curfew")).unwrap();
            fs::write(root.join("var/lib/curfew/ledger.json"), "{}").unwrap();
        }),
    ];
    for (exit, break_it) in breaks {
        let image = image();
        break_it(image.path());
        assert_eq!(fault(image.path(), &Options::default()), Some(exit));
    }
}

#[test]
fn an_option_that_makes_no_sense_fails_the_image_though_the_agent_would_run_on() {
    let options = Options { max_lifetime: Some("forever".into()), ..Options::default() };
    assert_eq!(fault(image().path(), &options), Some(13));
}

#[test]
fn an_image_that_is_not_there_fails() {
    assert_eq!(fault(Path::new("/nonexistent"), &Options::default()), Some(10));
}
