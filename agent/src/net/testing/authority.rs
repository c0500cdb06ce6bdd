//! A certificate authority and what it signs.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    date_time_ymd,
};

/// A certificate authority, valid from 2000 to 2100.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in PEM.
pub(crate) struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "test authority");
        valid(&mut params, (2000, 2099));
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// For a server called `name`, valid for the whole of these years.
    pub(crate) fn server(&self, name: &str, years: (i32, i32)) -> Pair {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(params, years)
    }

    /// For a client called `name`.
    pub(crate) fn client(&self, name: &str) -> Pair {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params, (2020, 2040))
    }

    /// An authority below this one, valid for the whole of these years.
    pub(crate) fn intermediate(&self, years: (i32, i32)) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "test intermediate");
        valid(&mut params, years);
        Self(CertifiedIssuer::signed_by(params, KeyPair::generate().unwrap(), &self.0).unwrap())
    }

    fn sign(&self, mut params: CertificateParams, years: (i32, i32)) -> Pair {
        valid(&mut params, years);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap().pem();
        Pair { certificate, key: key.serialize_pem() }
    }
}

impl Pair {
    /// With the certificate of the authority that signed it.
    pub(crate) fn below(mut self, intermediate: &Authority) -> Self {
        self.certificate.push_str(&intermediate.pem());
        self
    }
}

fn valid(params: &mut CertificateParams, (first, last): (i32, i32)) {
    (params.not_before, params.not_after) = (date_time_ymd(first, 1, 1), date_time_ymd(last + 1, 1, 1));
}
