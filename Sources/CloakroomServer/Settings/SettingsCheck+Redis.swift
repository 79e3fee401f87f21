/// Where Redis is, and by which users.
extension SettingsCheck {
    var redisFaults: [SettingsError] {
        [
            server, clusterAlone, clusterCount, repeatedNode, clusterDatabase, master, sentinelCount, repeatedSentinel,
            user,
            sentinelUser, sentinelAlone, authoritiesAlone, timeout,
        ].compactMap(\.self)
    }

    private var redis: SettingsValues<SettingsTable.Redis> { values.redis }

    private var server: SettingsError? {
        guard redis.valid(\.address) != nil, redis.valid(\.sentinels) != nil else { return nil }
        return redis.fault(
            \.address, "stands beside redis.sentinels, which say where Redis is", "keep one of the two")
    }

    private var clusterAlone: SettingsError? {
        guard redis.valid(\.cluster) != nil else { return nil }
        if redis.valid(\.address) != nil {
            return redis.fault(
                \.address, "stands beside redis.cluster, which says where Redis is", "keep one of the two")
        }
        guard redis.valid(\.sentinels) != nil else { return nil }
        return redis.fault(
            \.sentinels, "stand beside redis.cluster, which fails over by itself", "keep one of the two")
    }

    private var clusterCount: SettingsError? {
        guard let nodes = redis.valid(\.cluster), nodes.count > 16 else { return nil }
        return redis.fault(
            \.cluster, "has \(nodes.count) nodes", "give 16 at most; three will do, because they name the others")
    }

    private var repeatedNode: SettingsError? {
        let nodes = redis.valid(\.cluster) ?? []
        guard let repeated = nodes.first(where: { one in nodes.count { $0 == one } > 1 }) else { return nil }
        return redis.fault(\.cluster, "has \(repeated) twice", "give each node once")
    }

    private var clusterDatabase: SettingsError? {
        guard redis.valid(\.cluster) != nil, let database = redis.valid(\.database), database != 0 else { return nil }
        return redis.fault(\.database, "is \(database), but a cluster has only 0", "take redis.database out")
    }

    private var master: SettingsError? {
        guard redis.isValid(\.sentinels), redis.isValid(\.master) else { return nil }
        switch (redis.sentinels, redis.master) {
        case (.some, nil):
            return redis.fault(
                \.master, "is missing beside redis.sentinels",
                "give the name in their `sentinel monitor`, such as \"mymaster\"")
        case (nil, .some):
            return redis.fault(
                \.master, "stands without redis.sentinels", "give the sentinels, or take redis.master out")
        case (nil, nil), (.some, .some): return nil
        }
    }

    private var sentinelCount: SettingsError? {
        guard let sentinels = redis.valid(\.sentinels), sentinels.count > 16 else { return nil }
        return redis.fault(\.sentinels, "has \(sentinels.count) sentinels", "give 16 at most; three are usual")
    }

    /// One sentinel must not count as two that agree.
    private var repeatedSentinel: SettingsError? {
        let sentinels = redis.valid(\.sentinels) ?? []
        guard let repeated = sentinels.first(where: { one in sentinels.count { $0 == one } > 1 }) else { return nil }
        return redis.fault(\.sentinels, "has \(repeated) twice", "give each sentinel once")
    }

    /// Redis takes no name alone: without AUTH a connection is that of the user `default`, which may do all there is.
    private var user: SettingsError? {
        guard redis.valid(\.username) != nil, redis.isValid(\.password), redis.password == nil else { return nil }
        return redis.fault(
            \.username, "needs redis.password: without it commands run as Redis' user default",
            "give both, or neither")
    }

    private var sentinelUser: SettingsError? {
        guard redis.valid(\.sentinelUsername) != nil, redis.isValid(\.sentinelPassword), redis.sentinelPassword == nil
        else { return nil }
        return redis.fault(
            \.sentinelUsername, "needs redis.sentinelPassword: without it commands run as the sentinels' user default",
            "give both, or neither")
    }

    private var sentinelAlone: SettingsError? {
        guard redis.valid(\.sentinelPassword) != nil, redis.isValid(\.sentinels), redis.sentinels == nil else {
            return nil
        }
        return redis.fault(
            \.sentinelPassword, "stands without redis.sentinels", "give the sentinels, or take it out")
    }

    /// They show that TLS is meant. Without it the password would be sent in plain text.
    private var authoritiesAlone: SettingsError? {
        guard redis.valid(\.certificateAuthorities) != nil, redis.valid(\.tls) == false else { return nil }
        return redis.fault(
            \.certificateAuthorities, "stands without redis.tls: true, and Redis is reached in plain text",
            "give redis.tls: true, or take redis.certificateAuthorities out")
    }

    private var timeout: SettingsError? {
        guard let timeout = redis.valid(\.timeoutMilliseconds),
            let deadline = values.valid(\.server.requestDeadlineMilliseconds), timeout >= deadline
        else { return nil }
        return redis.fault(
            \.timeoutMilliseconds, "is \(timeout), not shorter than the whole request's \(deadline)",
            "give less, or raise server.requestDeadlineMilliseconds")
    }
}
