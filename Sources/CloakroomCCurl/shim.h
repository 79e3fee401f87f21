// Typed names for libcurl's variadic setters and getters, which Swift cannot call.
#pragma once
#include <curl/curl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <string.h>
#include <unistd.h>

static inline CURLcode cloakroom_set_long(CURL *h, CURLoption o, long v) { return curl_easy_setopt(h, o, v); }
static inline CURLcode cloakroom_set_off(CURL *h, CURLoption o, curl_off_t v) { return curl_easy_setopt(h, o, v); }
static inline CURLcode cloakroom_set_text(CURL *h, CURLoption o, const char *v) { return curl_easy_setopt(h, o, v); }
static inline CURLcode cloakroom_set_pointer(CURL *h, CURLoption o, void *v) { return curl_easy_setopt(h, o, v); }
static inline CURLcode cloakroom_set_list(CURL *h, CURLoption o, struct curl_slist *v) { return curl_easy_setopt(h, o, v); }
typedef size_t (*cloakroom_data_callback)(char *, size_t, size_t, void *);
static inline CURLcode cloakroom_set_data_callback(CURL *h, CURLoption o, cloakroom_data_callback v) { return curl_easy_setopt(h, o, v); }
static inline CURLcode cloakroom_set_seek_callback(CURL *h, curl_seek_callback v) { return curl_easy_setopt(h, CURLOPT_SEEKFUNCTION, v); }
static inline CURLcode cloakroom_get_pointer(CURL *h, CURLINFO i, void **v) { return curl_easy_getinfo(h, i, v); }
static inline CURLSHcode cloakroom_share(CURLSH *s, curl_lock_data d) { return curl_share_setopt(s, CURLSHOPT_SHARE, d); }
static inline CURLMcode cloakroom_multi_long(CURLM *m, CURLMoption o, long v) { return curl_multi_setopt(m, o, v); }
static inline CURLMcode cloakroom_multi_pointer(CURLM *m, CURLMoption o, void *v) { return curl_multi_setopt(m, o, v); }
typedef int (*cloakroom_socket_callback)(CURL *, curl_socket_t, int, void *, void *);
static inline CURLMcode cloakroom_multi_socket_callback(CURLM *m, cloakroom_socket_callback v) { return curl_multi_setopt(m, CURLMOPT_SOCKETFUNCTION, v); }
typedef int (*cloakroom_timer_callback)(CURLM *, long, void *);
static inline CURLMcode cloakroom_multi_timer_callback(CURLM *m, cloakroom_timer_callback v) { return curl_multi_setopt(m, CURLMOPT_TIMERFUNCTION, v); }
typedef int (*cloakroom_close_callback)(void *, curl_socket_t);
static inline CURLcode cloakroom_set_close_callback(CURL *h, cloakroom_close_callback v) { return curl_easy_setopt(h, CURLOPT_CLOSESOCKETFUNCTION, v); }
static inline int cloakroom_close_socket(curl_socket_t socket) { return close(socket); }
typedef curl_socket_t (*cloakroom_open_callback)(void *, curlsocktype, struct curl_sockaddr *);
static inline CURLcode cloakroom_set_open_callback(CURL *h, cloakroom_open_callback v) { return curl_easy_setopt(h, CURLOPT_OPENSOCKETFUNCTION, v); }
static inline curl_socket_t cloakroom_open_socket(const struct curl_sockaddr *a) { return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol); }
// The lines about the server's own certificate, with CURLOPT_CERTINFO; NULL if there was none.
static inline struct curl_slist *cloakroom_certificate(CURL *h) {
    struct curl_certinfo *i = NULL;
    return curl_easy_getinfo(h, CURLINFO_CERTINFO, &i) == CURLE_OK && i && i->num_of_certs > 0 ? i->certinfo[0] : NULL;
}
// A listening socket without a file, whose name the system chooses (unix(7), "Autobind feature"): five characters.
static inline int cloakroom_abstract_listener(char name[6]) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof address.sun_family;
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener < 0) return -1;
    if (bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 1) == 0) {
        length = sizeof address;
        if (getsockname(listener, (struct sockaddr *)&address, &length) == 0) {
            memcpy(name, address.sun_path + 1, 5);
            name[5] = 0;
            return listener;
        }
    }
    close(listener);
    return -1;
}
static inline int cloakroom_accept_one(int listener) { return accept4(listener, NULL, NULL, SOCK_CLOEXEC); }
// Sockets are opened and closed by libcurl itself.
static inline void cloakroom_detach_sockets(CURL *h) {
    curl_easy_setopt(h, CURLOPT_OPENSOCKETFUNCTION, NULL);
    curl_easy_setopt(h, CURLOPT_CLOSESOCKETFUNCTION, NULL);
}
