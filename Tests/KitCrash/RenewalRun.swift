extension KitCrash {
    static func runRenewal(in folder: Folder) async throws {}
}
