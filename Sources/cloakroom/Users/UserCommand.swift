/// A command that the help of `cloakroom user` describes.
protocol UserCommand: Command {}

extension UserCommand {
    static var help: String { UserHelp.text }
    static var helpName: String { "user" }
}

/// `cloakroom user --help`
enum UserHelp {
    static let text = """
        Usage: cloakroom user COMMAND … SETTINGS

        What a user may do, kept in Redis and read by every worker with each request: a change counts at once. ID is the
        user's id as in object keys and in the audit.

        Commands:
          set ID OPTION…         sets what is named; "none" removes it again
          get ID [--json]        shows the record
          disable ID [--reason TEXT]
                                 refuses everything from now on, and ends what is shared; what was vended before lives
                                 to its end; makes a record where there is none, and says so
          enable ID              takes that back; what was revoked stays revoked, what was shared is not shared again;
                                 makes no record
          delete ID [--forget-revocation]
                                 forgets the record: without one, the settings decide; ends what is shared; within 12
                                 hours of a revocation, or as long as session tokens live, only with the option, since
                                 workers would accept again what is from before; tokens of issuers may live longer still
          revoke ID [--apply] [--keep-enabled]
                                 disables, and denies what was issued before: see cloakroom user revoke --help
          share ID --with ID2 --prefix P --until WHEN
                                 lets another user read a folder of this one's until then
          unshare ID --with ID2 [--prefix P]
                                 ends that, for one folder or for all
          shares ID [--json]     what the user shares, and what is shared with them
          list [--prefix P] [--limit N] [--cursor C] [--json]
                                 users with a record, about 1000, in no order; C is where an earlier list ended

        In place of ID: --subject S, the user whom an issuer's tokens call S, and with several issuers --issuer I as well.
        Where all issuers map their subjects, each ID is u_ and a UUID; set, disable, revoke and share take another one
        with --any-id only.

        Options of set:
          --tier T                 the subscription tier
          --subscription-end WHEN  when the subscription ends
          --storage-limit BYTES    from how much on nothing can be stored
          --storage-used BYTES     what the user has stored
          --accept-undated-tokens  accepts, until the next revocation, a revoked user's tokens that have neither iat nor
                                   nbf

        Values:
          WHEN   2027-01-31T12:00:00Z, or from now on: +30d, +12h
          BYTES  a number, or one with K, M, G or T for powers of 1024; for the limit also "unlimited"

        Behind -- stands an ID that begins with a hyphen: cloakroom user disable -- -h cloakroom.json5

        Exit status: 0 done, 1 failed or no such record, 2 the command line was not understood, 3 done by disable, delete,
        revoke, share or unshare, but a failover of Redis may lose it: run it again.

        Examples:
          cloakroom user set u_1 --tier pro --subscription-end +30d --storage-limit 50G cloakroom.json5
          cloakroom user get u_1 --json cloakroom.json5
          cloakroom user disable u_1 --reason 'stolen phone' cloakroom.json5
          cloakroom user share u_1 --with u_2 --prefix photos/u_1/albums/spring/ --until +30d cloakroom.json5
          cloakroom user shares u_2 cloakroom.json5
          cloakroom user unshare u_1 --with u_2 cloakroom.json5
          cloakroom user list --prefix u_ cloakroom.json5
          cloakroom user get --subject 001999.3f2b.1644 --issuer https://appleid.apple.com cloakroom.json5
        """
}
