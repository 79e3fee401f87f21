# shellcheck shell=bash
# For sourcing: the supervisor with two workers, and their settings.
: "${state:?}" "${region:?}" "${bucket:?}" "${role:?}" "${broker:?}" "${store:=seaweedfs}"

workers=2

write_settings() {
    # Counters of earlier workers are not ours.
    rm -rf "$state/metrics"
    mkdir "$state/metrics"
    cat >"$state/settings.json5" <<EOF
// Settings of the local stack, written anew by deploy/run at each start. Secrets are in files beside, mode 0600.
{
  region: "$region",
  bucket: "$bucket",
  aws: {
    accessKeyID: "$broker",
    secretAccessKey: {file: "$state/secrets/s3-broker"},
    stsEndpoint: "${s3:?}",
    s3Endpoint: "$s3",
  },
  tokens: {
    issuers: [
      {
        issuer: "https://auth.localhost",
        audiences: ["cloakroom"],
        algorithms: ["HS256"],
        secret: {file: "$state/secrets/token"},
        subjects: "plain",
      },
      // In the place of Sign in with Apple.
      {
        issuer: "https://accounts.localhost",
        audiences: ["cloakroom"],
        algorithms: ["HS256"],
        secret: {file: "$state/secrets/identity"},
        for: "session",
      },
    ],
  },
  session: {issuer: "https://cloakroom.localhost", keys: [{keyID: "1", secret: {file: "$state/secrets/session"}}]},
  // Tiered photo storage needs catalogs beside the defaults.
  vending: {roleARN: "$role", store: "$store", prefixes: ["photos", "thumbnails", "metadata", "catalogs"]},
  // Assets have a prefix of their own: the lifecycle rule is for them, and not for what users keep in their folders.
  // Images of chats have one, too, which is off by default: apps release them, and a rule of their own ends the rest.
  uploads: {keyPrefix: "assets/", chatKeyPrefix: "chats/", idKeys: [{file: "$state/secrets/uploads"}]},
  lifecycle: {prefixes: ["assets/"]},
  release: {mode: "delete", keys: [{file: "$state/secrets/release"}]},
  // The demonstration renews objects that are a second old; in production a day is the least that makes sense.
  renewal: {keyPrefix: "", minimumAgeSeconds: 0},
  redis: $(redis_settings),
  // Whichever worker is asked for /metrics adds up the counters of both.
  server: {metricsFolder: "$state/metrics"},
}
EOF
}

# For a worker the caller's credentials have no place here.
without_credentials=(env -u AWS_ACCESS_KEY_ID -u AWS_SECRET_ACCESS_KEY -u AWS_SESSION_TOKEN)

# allow_pages ORIGIN…: web pages of these may call the bucket; and the worker, once nginx has `cloakroom nginx-cors`.
allow_pages() {
    local origins
    origins=$(printf '"%s", ' "$@")
    sed -i "s|^}\$|  web: {origins: [${origins%, }]},\n}|" "$state/settings.json5"
    "${without_credentials[@]}" "$CLOAKROOM_WORKER" cors apply --yes "$state/settings.json5" >"$state/logs/cors.log" 2>&1 || {
        cat "$state/logs/cors.log" >&2
        die "the bucket's rule for pages could not be set"
    }
}

# start_workers SETTINGS
start_workers() {
    start worker "${without_credentials[@]}" \
        "$CLOAKROOM_WORKER" serve --workers "$workers" --listen "unix:${sockets:?}/worker-%d.sock" "$1"
}

sockets_exist() {
    local path
    for path in "$@"; do [[ -S $path ]] || return 1; done
}

# Ready through nginx: the workers respond, and reach Redis and S3.
workers_ready() { [[ $(curl -s -o /dev/null -w '%{http_code}' --max-time 2 "${url:?}/readyz") == 200 ]]; }

worker_sockets() {
    local number
    for ((number = 1; number <= workers; number++)); do printf '%s\n' "$sockets/worker-$number.sock"; done
}
