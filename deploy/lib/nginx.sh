# shellcheck shell=bash
# For sourcing: an nginx of our own around the files of nginx/, on an unprivileged port, plain HTTP on 127.0.0.1.
: "${root:?}" "${state:?}"

# write_nginx_config FOLDER PORT SOCKET…: FOLDER/nginx.conf for workers on these sockets.
write_nginx_config() {
    local folder=$1 port=$2 socket user=
    shift 2
    mkdir -p "$folder/temp"
    # The files include each other as cloakroom/<name>, as they do under /etc/nginx.
    ln -sfn "$root/nginx" "$folder/cloakroom"
    # Started by root, nginx would drop to a user who may not enter the folder of the sockets.
    ((EUID != 0)) || user="user root;"
    {
        cat <<EOF
$user
worker_processes auto;
daemon off;
pid $folder/nginx.pid;
error_log $folder/error.log;
events { worker_connections 4096; }
http {
    client_body_temp_path $folder/temp/body;
    fastcgi_temp_path $folder/temp/fastcgi;
    proxy_temp_path $folder/temp/proxy;
    scgi_temp_path $folder/temp/scgi;
    uwsgi_temp_path $folder/temp/uwsgi;
    include cloakroom/log.conf;
    include cloakroom/addresses.conf;
    include cloakroom/browsers.conf;
EOF
        # upstream.conf with these sockets in place of the production ones.
        printf '    '
        grep -v '^ *server unix:' "$root/nginx/upstream.conf" | sed '/^}/,$d'
        for socket in "$@"; do printf '    server unix:%s max_fails=0;\n' "$socket"; done
        cat <<EOF
    }
    server {
        listen 127.0.0.1:$port;
        access_log $folder/access.log cloakroom;
        include cloakroom/server.conf;
        set \$cloakroom_folder $root/nginx;
        include cloakroom/status.conf;
        set \$cloakroom_web_folder $root/deploy/web;
        set \$cloakroom_web_api "";
        set \$cloakroom_web_store "${s3:-}";
        include $root/deploy/web/nginx.conf;
    }
}
EOF
    } >"$folder/nginx.conf"
}

# start_nginx PORT SOCKET…
start_nginx() {
    # Logs begin with the run, as everybody's do.
    rm -rf "$state/nginx"
    write_nginx_config "$state/nginx" "$@"
    # -e: before it has read its configuration, it would complain in /var/log/nginx.
    start nginx "${CLOAKROOM_NGINX:-nginx}" -e "$state/nginx/error.log" -p "$state/nginx" -c "$state/nginx/nginx.conf"
    # shellcheck disable=SC2034 # for the caller
    url=http://127.0.0.1:$1
}
