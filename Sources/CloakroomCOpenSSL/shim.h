#pragma once
#include <limits.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// The parameter list keeps pointers to names, which a bridged Swift string does not keep alive.
static inline int cloakroom_hmac_init(EVP_MAC_CTX *context, const char *digest, const unsigned char *key,
                                      size_t length) {
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)digest, 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_MAC_init(context, key, length, parameters);
}

// SHA-256 without EVP, whose layers cost several times what the digest of a short message does. Deprecated since OpenSSL
// 3.0, hence through here; part of every libcrypto of version 3.
static inline int cloakroom_sha256_init(SHA256_CTX *context) { return SHA256_Init(context); }
static inline int cloakroom_sha256_update(SHA256_CTX *context, const void *bytes, size_t count) {
    return SHA256_Update(context, bytes, count);
}
static inline int cloakroom_sha256_final(unsigned char *digest, SHA256_CTX *context) {
    return SHA256_Final(digest, context);
}

static inline EVP_PKEY *cloakroom_public_key(const char *kind, OSSL_PARAM *parameters) {
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, kind, NULL);
    if (context != NULL && parameters != NULL && EVP_PKEY_fromdata_init(context) == 1)
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters);
    EVP_PKEY_CTX_free(context);
    return key;
}
// Numbers are big-endian.
static inline EVP_PKEY *cloakroom_rsa_public_key(const unsigned char *modulus, size_t modulus_length,
                                                 const unsigned char *exponent, size_t exponent_length) {
    BIGNUM *n = BN_bin2bn(modulus, (int)modulus_length, NULL), *e = BN_bin2bn(exponent, (int)exponent_length, NULL);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    OSSL_PARAM *parameters = NULL;
    if (n != NULL && e != NULL && builder != NULL && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e) == 1)
        parameters = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY *key = cloakroom_public_key("RSA", parameters);
    OSSL_PARAM_free(parameters);
    OSSL_PARAM_BLD_free(builder);
    BN_free(e);
    BN_free(n);
    return key;
}
// The point as SEC 1 encodes it; NULL when it is not on the curve.
static inline EVP_PKEY *cloakroom_ec_public_key(const char *group, const unsigned char *point, size_t length) {
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)group, 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, (void *)point, length),
        OSSL_PARAM_construct_end(),
    };
    return cloakroom_public_key("EC", parameters);
}

// Macros and casts of libssl, one line each. A client context: TLS 1.2 or newer, the peer's certificate always verified.
static inline SSL_CTX *cloakroom_tls_context(const char *authorities) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (context == NULL) return NULL;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    int trusted = authorities != NULL ? SSL_CTX_load_verify_locations(context, authorities, NULL)
                                      : SSL_CTX_set_default_verify_paths(context);
    if (trusted == 1 && SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1) return context;
    SSL_CTX_free(context);
    return NULL;
}
// A session over a connected socket, for a name or a literal address.
static inline SSL *cloakroom_tls_session(SSL_CTX *context, int fd, const char *host) {
    SSL *session = SSL_new(context);
    if (session == NULL) return NULL;
    X509_VERIFY_PARAM *parameters = SSL_get0_param(session);
    int named = X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1 ||
                (SSL_set1_host(session, host) == 1 && SSL_set_tlsext_host_name(session, host) == 1);
    if (named && SSL_set_fd(session, fd) == 1) {
        SSL_set_connect_state(session);
        return session;
    }
    SSL_free(session);
    return NULL;
}
// As send(2) and recv(2): bytes moved, 0 for later, -1 for broken or ended.
static inline long cloakroom_tls_outcome(SSL *session, int moved) {
    if (moved > 0) return moved;
    int reason = SSL_get_error(session, moved);
    return reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE ? 0 : -1;
}
// Why the last of the calls below failed, in OpenSSL's own words, and what kind of failure it is, as RedisTLSFailure.Cause counts
// them; NULL where TLS was not at fault: the socket was, or the peer is gone. To be called right after it, on the same thread.
static inline const char *cloakroom_tls_failure(SSL *session, int *cause) {
    unsigned long error = ERR_peek_error();
    int library = ERR_GET_LIB(error), reason = ERR_GET_REASON(error);
    if (error == 0 || library == ERR_LIB_SYS) return NULL;
    if (library == ERR_LIB_SSL && reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) return NULL;
    long verified = SSL_get_verify_result(session);
    if (verified != X509_V_OK) {
        *cause = verified == X509_V_ERR_HOSTNAME_MISMATCH || verified == X509_V_ERR_IP_ADDRESS_MISMATCH ? 4 : 3;
        return X509_verify_cert_error_string(verified);
    }
    if (library == ERR_LIB_SSL && reason == SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED)
        *cause = 1;
    else if (library == ERR_LIB_SSL && reason == SSL_R_WRONG_VERSION_NUMBER)
        *cause = 2;
    return ERR_reason_error_string(error);
}
// Whether the handshake has begun and is not done: the peer has the first of it, or the system has.
static inline int cloakroom_tls_is_in_handshake(SSL *session) {
    return !SSL_is_init_finished(session) && BIO_number_written(SSL_get_wbio(session)) > 0;
}
static inline long cloakroom_tls_write(SSL *session, const void *bytes, size_t count) {
    ERR_clear_error();
    return cloakroom_tls_outcome(session, SSL_write(session, bytes, count > INT_MAX ? INT_MAX : (int)count));
}
static inline long cloakroom_tls_read(SSL *session, void *bytes, size_t capacity) {
    ERR_clear_error();
    return cloakroom_tls_outcome(session, SSL_read(session, bytes, capacity > INT_MAX ? INT_MAX : (int)capacity));
}
