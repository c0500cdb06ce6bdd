//! What a machine is called at the provider. A function of lease and slot alone: that, and nothing else, makes a create
//! call that is repeated harmless. Pure.

/// The name of a slot's server: a valid host name, unique as the lease's UID is.
pub(crate) fn of(lease: &str, uid: &str, slot: u32) -> String {
    // A lease's name may hold dots; cut, it must not end with one, or with a dash.
    let cut: String = lease.chars().map(|c| if c == '.' { '-' } else { c }).take(LONGEST).collect();
    let uid: String = uid.chars().filter(char::is_ascii_hexdigit).take(UID).collect();
    format!("{}-{uid}-{slot}", cut.trim_end_matches('-'))
}

/// A host name has at most 63 characters.
const LONGEST: usize = 40;
const UID: usize = 8;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_tells_people_the_lease_and_the_slot() {
        assert_eq!(of("burst", "8c5f1e02-77aa-4b", 3), "burst-8c5f1e02-3");
        assert_eq!(of("ci.example.com", "8c5f1e02-77aa-4b", 0), "ci-example-com-8c5f1e02-0");
    }

    proptest! {
        #[test]
        fn whatever_the_lease_is_called_its_machines_have_valid_names(
            lease in "[a-z0-9]([a-z0-9.-]{0,80}[a-z0-9])?",
            uid in "[0-9a-f]{8}-[0-9a-f]{4}",
            slot in 0_u32..64,
        ) {
            let name = of(&lease, &uid, slot);
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
            prop_assert!(name.len() <= 63, "{name}");
            prop_assert!(name.starts_with(plain) && name.ends_with(plain), "{name}");
            prop_assert!(name.chars().all(|c| plain(c) || c == '-'), "{name}");
        }
    }
}
