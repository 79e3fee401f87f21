/// Key pairs for tests, made once with `openssl genpkey`: whoever reads this has them too.
package enum TestKeys {
    /// 2048 bits.
    package static let rsa = """
        -----BEGIN PRIVATE KEY-----
        MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDGyEOVcqXuR9lX
        vaqWaiY5lSVskWPAWQcaDLu5O7P/i9EOtKbgLMQCWI8hQ3fy81gi55G/OJ41eEOm
        Ev346RKsgeYnGJCGOACPU8ciRZcu6NlAYynjkFMWD6W+sSAv0a3JTeStPqFZlARA
        jQfGDBJsUq898CT/tPGCbFMi/4MtTmonmFuVYSIgYJ4T3LpwyCfFcA3YomaNNT31
        wT+8tXiukhBXLGNXGYv0KcThSrts+aZ5p2zQSmbjTaKiUvXg7+jJGlMHYxHSF4HR
        0qOzicLqjqCliCYLqgHjKhiUTxV+UdtCyyuKEsaBG+Z1Iub051oz/1ZFe+Bh3b6U
        8s9Xeo4nAgMBAAECggEAJaTpP5UNnVlX7IjLlF6XzJHVG4FRDa0Obj15E3Qd+0gE
        GC/X5l4z5GnW+SqovYad60ZFUJwtQdz7mqjAFfI1ihuzdTXusKxMVtg7vt7E6apI
        8iuVVDYRtfzSm5E5kjS4H4Yzxyc0MR2ZzIuorDW/C2qBK06eAxrGHbfb6qXOtrZr
        +NGmqChroSCkB4DgUcCyfICml5YFHzsZjOby6OVonHjq0rR6EC16ysZaDkLf1YmN
        GVEuZYf6va2f5L18CXOcl9iU45ci2MQ84IaM0Mnrnknttz2ODiiDYCBywPIspmV8
        uyyCK1X66w+MvqEnXbiHRrTRWSXtTGvGQ4pbnQ3ngQKBgQD6FIJxJInBqkL0O13v
        /6VTjcHXC+InUmUetd3CnMavODS+ZurWfv61aKVXtl81MXaBPIhBulxCW6rN1Wwl
        SgjKMmfGwzrGA+1GhFH5ko64XnZTAMARfbZf6j21/YjLbUsVowzFEGGhaEY9QE8j
        Rj8/h2iUhAMYe+pKN2GGHdJL5wKBgQDLfON5KXiEq716J0VuXwvDYcGpyij0eQom
        YuxiAOyMfecvFj6a9caT9Ms4qN58d6xDJoJJShEz52Yn5gRwiA8IE0e0y2L4dEV3
        ag/erdjQFh5eFG3fd4TAlw1z0yvn1GFx7VuR5esExhx6HI0t6caCHPEE1cNRLvf1
        LHu/mCNjwQKBgQCB6TeeCQoa9hTUBScWbup2jjR9PyobnTz0iCuMVp8MFRmpM5OZ
        G927ZYJHH3E0E97o4gYyhto4iqAfT1hfwqbwSuEIKxEUHqQbNs/S42SKuF+lXMVq
        ELE2AFxQd0Whz8PqmIogsRLWo3Ghjg/OVkay/OfCBxYImQ6rwTtDTaiaTwKBgHRr
        XF16m4gUFdCoXTHbUQiUik9Q6QONqH/zwtgDPVLXyYeIC4NusBEAUbB19OxzL2wv
        wQSbSqJOdoTHNa0IOslc9n56ioIpS4EZfkDhZ5UNwowC1iWu5JWnFjw5CfqV6LZc
        nTIov8A4dBxs71zgTgEs+7vPbPKqk5SCwb4JFd5BAoGAUXd3MrTaRCeWCNJyxM0/
        VJvh3XDbzH/jCH4LK8r0EcMKP+tCtcfVOzmudkOc6HSj7Swr9t8eomlCvJcopZ5m
        LM5GzuOB8AlC05xBLdZzETTDEv8aBCExm2UkRNJhhU2OAaCaMo6Tty+RBGck+q9C
        xkCxKv0nQugeOajWkU/jxMM=
        -----END PRIVATE KEY-----
        """

    package static let p256 = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg2du9MAYocwgkoeO2
        5+AptHMmgB4TPahoQpQysg3BuQahRANCAAS07EcO5a9wPHNGoaB1MX4a7TogeRln
        AyeZQ4HYTAOa8de5J/N4dKhLoUF25dgByjU3V08pqAHuf93DfJxppOCB
        -----END PRIVATE KEY-----
        """

    package static let otherP256 = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg6zTWeo+GHkQJTVC6
        gP0dlAgcNYereXEHizkejP+0r/6hRANCAARekn/8UD/MDvJLPwEqsDK71gEHVEqS
        DsDtDSYQz20n3cbzDd8L+4QiMfC+BLzwSUZIk1Cxy+PRgNF3qPFa7DzX
        -----END PRIVATE KEY-----
        """

    package static let p384 = """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDDjXcP+/jo+4EVHHeqt
        PepvNRxxlnbglIYBXkYQDjqC1V5/8SUge82dtMMH64LOITShZANiAATYicoh3+yQ
        Q4uQ/Mp6RqgrKhAl0HLnmp7rgoM4quPj8+lp6e5Gca1f9aTmuhOxLLKpDWKFgQsv
        87bMBFzo7V3DhrnsDdp8pB8gxCOOMwWaC1U0wi6prK4af3H81eyaqsw=
        -----END PRIVATE KEY-----
        """

    package static let p521 = """
        -----BEGIN PRIVATE KEY-----
        MIHuAgEAMBAGByqGSM49AgEGBSuBBAAjBIHWMIHTAgEBBEIAQQFPXQNY/kLNVWR5
        uYqGtssPpIoWeCOfLHBn5qXxtIY6YPMr+ai5Gxd26fKV4RLsMhcSh2sA8EzWjC+d
        abvjKguhgYkDgYYABAHoluE2B4nvoxeax20Gh3+JrcHged9IoQos9Df4oxDiP3oq
        UBOXmJRvSkBx61Z6bASHeI9vpWRrKVBBbAaxg6XvDQHhTiRObiY51BUzCr83feMA
        VRYG20rEfhPPPJH6OEnAKlcSwYAjAqVNHc0xRB2Xm3YpJ2u2aNgSj+ua6QDRw71h
        gA==
        -----END PRIVATE KEY-----
        """

    package static let ed25519 = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEILfqzH/KOv+KPll8yBRizYpfTAlSBvJ259krxBVuGPPT
        -----END PRIVATE KEY-----
        """

    package static let rsaPublic = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAxshDlXKl7kfZV72qlmom
        OZUlbJFjwFkHGgy7uTuz/4vRDrSm4CzEAliPIUN38vNYIueRvzieNXhDphL9+OkS
        rIHmJxiQhjgAj1PHIkWXLujZQGMp45BTFg+lvrEgL9GtyU3krT6hWZQEQI0HxgwS
        bFKvPfAk/7TxgmxTIv+DLU5qJ5hblWEiIGCeE9y6cMgnxXAN2KJmjTU99cE/vLV4
        rpIQVyxjVxmL9CnE4Uq7bPmmeads0Epm402iolL14O/oyRpTB2MR0heB0dKjs4nC
        6o6gpYgmC6oB4yoYlE8VflHbQssrihLGgRvmdSLm9OdaM/9WRXvgYd2+lPLPV3qO
        JwIDAQAB
        -----END PUBLIC KEY-----
        """

    package static let p256Public = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEtOxHDuWvcDxzRqGgdTF+Gu06IHkZ
        ZwMnmUOB2EwDmvHXuSfzeHSoS6FBduXYAco1N1dPKagB7n/dw3ycaaTggQ==
        -----END PUBLIC KEY-----
        """

    package static let p384Public = """
        -----BEGIN PUBLIC KEY-----
        MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAE2InKId/skEOLkPzKekaoKyoQJdBy55qe
        64KDOKrj4/PpaenuRnGtX/Wk5roTsSyyqQ1ihYELL/O2zARc6O1dw4a57A3afKQf
        IMQjjjMFmgtVNMIuqayuGn9x/NXsmqrM
        -----END PUBLIC KEY-----
        """

    package static let p521Public = """
        -----BEGIN PUBLIC KEY-----
        MIGbMBAGByqGSM49AgEGBSuBBAAjA4GGAAQB6JbhNgeJ76MXmsdtBod/ia3B4Hnf
        SKEKLPQ3+KMQ4j96KlATl5iUb0pAcetWemwEh3iPb6VkaylQQWwGsYOl7w0B4U4k
        Tm4mOdQVMwq/N33jAFUWBttKxH4TzzyR+jhJwCpXEsGAIwKlTR3NMUQdl5t2KSdr
        tmjYEo/rmukA0cO9YYA=
        -----END PUBLIC KEY-----
        """

    package static let ed25519Public = """
        -----BEGIN PUBLIC KEY-----
        MCowBQYDK2VwAyEAWKgnr4DaBY6PIKghrXRVUeULMmYIwSO/sZ+t2LUb4JU=
        -----END PUBLIC KEY-----
        """

    /// A public key whose algorithm identifier allows PSS with SHA-256 alone (RFC 4055 §1.2).
    package static let rsaForPSS = """
        -----BEGIN PUBLIC KEY-----
        MIIBVjBBBgkqhkiG9w0BAQowNKAPMA0GCWCGSAFlAwQCAQUAoRwwGgYJKoZIhvcN
        AQEIMA0GCWCGSAFlAwQCAQUAogMCASADggEPADCCAQoCggEBAKEANrcCrV1Wqwe3
        PzklM2agmdjULhJBPy74UoOeIoPsVSbqKALlEgnVDpuMSEKlIsQyagUM/w/mrtcs
        b1UPtKLwyOmJ8VIoDWRZYCSKpBYyLxFtQYGGMWMxE6C2tCG+YT8EgTtU87KR5Hwd
        j7LDyIgkxc01a+RJzZ7JCdTawClpoVp50LTWdbOouRWOw5o5NdsfywHR+lwFFtuL
        gkJMmZ4LNhB+bpPGZ+jJKWDC9tSHixitpqPh9QMEoa0Xs5OWpDJchh/7SGYz5t6B
        46141maquHv8b3okeUFvCQKlyLKLBUZKsNQO4q0rCyUca0gm8jMiEmA6UyGdyQeS
        OQgIOOsCAwEAAQ==
        -----END PUBLIC KEY-----
        """
}
