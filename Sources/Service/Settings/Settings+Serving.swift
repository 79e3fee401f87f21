extension Settings {
    /// These settings, if a worker can serve with them: it needs credentials, which a token can be minted without.
    package func readyToServe() throws(SettingsFaults) -> Settings {
        guard aws.accessKeyID == nil else { return self }
        let fault = SettingsFault(
            "aws.accessKeyID", "is absent, and with it every credential for AWS",
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY where the worker starts")
        throw SettingsFaults(faults: [fault])
    }
}
