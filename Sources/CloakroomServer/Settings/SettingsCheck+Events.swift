/// What the keys of events say together.
extension SettingsCheck {
    var eventFaults: [SettingsError] { [eventsAlone, webhookSecret].compactMap(\.self) }

    private var events: SettingsValues<SettingsTable.Events> { values.events }

    private var eventsAlone: SettingsError? {
        guard events.isValid(\.stream), events.stream == nil else { return nil }
        let (cause, remedy) = ("stands without events.stream", "give the stream a name, such as \"events\"")
        if events.webhook.valid(\.url) != nil { return events.webhook.fault(\.url, cause, remedy) }
        if events.valid(\.signIns) == true { return events.fault(\.signIns, cause, remedy) }
        return nil
    }

    private var webhookSecret: SettingsError? {
        let webhook = events.webhook
        guard webhook.isValid(\.url), webhook.isValid(\.secret) else { return nil }
        switch (webhook.url, webhook.secret) {
        case (.some, nil):
            return webhook.fault(
                \.secret, "is missing: nothing is posted unsigned", "give a secret made with: openssl rand -base64 32")
        case (nil, .some):
            return webhook.fault(\.secret, "stands without events.webhook.url", "give both, or neither")
        case (nil, nil), (.some, .some): return nil
        }
    }
}
