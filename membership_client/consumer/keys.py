"""Every key that librdkafka has for consumers, and what becomes of it in a Consumer.

`docs/configuration.md` has this table, and a test compares it with the keys of the librdkafka that is installed. A key that
is not in the table is librdkafka's to refuse.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Reach(enum.Enum):
    """Which side acts on a key. The values are the words of the documentation."""

    FETCHER = "librdkafka"
    """Passed to librdkafka, which fetches; the same effect as in confluent-kafka."""
    BOTH = "both"
    """For librdkafka's connections and for the membership connection."""
    MEMBERSHIP = "this library"
    """This library acts on the key. librdkafka, which is in no group, does not get it."""
    REFUSED = "refused"
    """ConfigError, which is a KafkaException with _INVALID_ARG; the note is the reason."""


class Key(NamedTuple):
    """What becomes of a key."""

    reach: Reach
    note: str = ""
    """What is different from confluent-kafka; of a refused key, why and what to do instead. A clause without a full stop."""


def _fetcher(note: str = "") -> Key:
    return Key(Reach.FETCHER, note)


def _both(note: str = "") -> Key:
    return Key(Reach.BOTH, note)


def _ours(note: str = "") -> Key:
    return Key(Reach.MEMBERSHIP, note)


def _refused(reason: str) -> Key:
    return Key(Reach.REFUSED, reason)


_NO_SUCH_POINTER = _refused("a pointer of C, which Python has no way to give; confluent-kafka refuses it, too")
_NO_OPENSSL = "the membership connection uses Python's ssl module, which cannot load it: name it in the openssl.cnf of OPENSSL_CONF"
_SHARE_ONLY = _fetcher("no effect: for share consumers")
_OLD = _fetcher("no effect: for librdkafka's old consumer, which confluent-kafka does not have")
_DEPRECATED = _fetcher("no effect any more, in librdkafka either")

_CONNECTIONS: dict[str, Key] = {
    "allow.auto.create.topics": _fetcher("only for topics given to assign(); a subscription creates no topics"),
    "api.version.fallback.ms": _fetcher(
        "the membership connection always asks for versions, which brokers from 1.0 on answer"
    ),
    "api.version.request": _fetcher("the membership connection always asks for versions"),
    "api.version.request.timeout.ms": _fetcher("the membership connection has socket.connection.setup.timeout.ms"),
    "bootstrap.servers": _both(),
    "broker.address.family": _fetcher("the membership connection tries every address of a name, of either family"),
    "broker.address.ttl": _fetcher("the membership connection looks the address up whenever it connects"),
    "broker.version.fallback": _fetcher("the membership connection always asks for versions"),
    "client.dns.lookup": _fetcher("the membership connection tries every address of a name"),
    "client.id": _both("the default is membership-client for the membership connection, and rdkafka for librdkafka"),
    "client.rack": _both(),
    "connections.max.idle.ms": _fetcher("heartbeats keep the membership connection from being idle"),
    "enable.metrics.push": _both("two [client instances](telemetry.md#metrics-for-the-brokers) with their own metrics"),
    "max.in.flight": _fetcher(),
    "max.in.flight.requests.per.connection": _fetcher(),
    "message.copy.max.bytes": _fetcher(),
    "message.max.bytes": _fetcher(),
    "metadata.broker.list": _both("the same key as bootstrap.servers"),
    "metadata.max.age.ms": _both(),
    "metadata.recovery.rebootstrap.trigger.ms": _fetcher(
        "the membership connection goes back to bootstrap.servers as soon as the coordinator does not answer"
    ),
    "metadata.recovery.strategy": _fetcher(
        "the membership connection always goes back to bootstrap.servers, also with none: it knows no other brokers"
    ),
    "receive.message.max.bytes": _fetcher("answers on the membership connection have a limit of their own, 32 MiB"),
    "reconnect.backoff.jitter.ms": _DEPRECATED,
    "reconnect.backoff.max.ms": _fetcher("the membership connection has retry.backoff.max.ms"),
    "reconnect.backoff.ms": _fetcher("the membership connection has retry.backoff.ms"),
    "retry.backoff.max.ms": _both(),
    "retry.backoff.ms": _both(),
    "socket.blocking.max.ms": _DEPRECATED,
    "socket.connection.setup.timeout.ms": _both(
        "the default is 10000 for the membership connection, and 30000 for librdkafka"
    ),
    "socket.keepalive.enable": _fetcher("always on for the membership connection"),
    "socket.max.fails": _fetcher("the membership connection is dropped with the first request that is not answered"),
    "socket.nagle.disable": _fetcher("always disabled for the membership connection"),
    "socket.receive.buffer.bytes": _fetcher(),
    "socket.send.buffer.bytes": _fetcher(),
    "socket.timeout.ms": _fetcher("the membership connection has request.timeout.ms"),
    "topic.blacklist": _refused(
        "librdkafka would not fetch what the group assigns: subscribe by a pattern that does not match these topics"
    ),
    "topic.metadata.propagation.max.ms": _fetcher(),
    "topic.metadata.refresh.fast.cnt": _DEPRECATED,
    "topic.metadata.refresh.fast.interval.ms": _fetcher(),
    "topic.metadata.refresh.interval.ms": _fetcher("for librdkafka's metadata; the membership has metadata.max.age.ms"),
    "topic.metadata.refresh.sparse": _fetcher(),
}

_SECURITY: dict[str, Key] = {
    "enable.sasl.oauthbearer.unsecure.jwt": _both("for tests: anyone can make such a token"),
    "enable.ssl.certificate.verification": _both(),
    "https.ca.location": _both(),
    "https.ca.pem": _both(),
    "oauthbearer_token_refresh_cb": _refused("a pointer of C: give oauth_cb, a function of Python"),
    "sasl.kerberos.keytab": _both("the membership connection takes its ticket from the keytab itself"),
    "sasl.kerberos.kinit.cmd": _fetcher(
        "the membership connection uses the keytab, or the ticket cache that the command fills"
    ),
    "sasl.kerberos.min.time.before.relogin": _fetcher("the membership connection gets a ticket when it authenticates"),
    "sasl.kerberos.principal": _both(),
    "sasl.kerberos.service.name": _both(),
    "sasl.mechanism": _both(
        "GSSAPI needs the package gssapi, and a librdkafka with libsasl2, which published wheels do not have"
    ),
    "sasl.mechanisms": _both("the same key as sasl.mechanism"),
    "sasl.oauthbearer.assertion.algorithm": _both(
        "for ES256 librdkafka writes the signature in ASN.1, which endpoints that keep to RFC 7518 refuse"
    ),
    "sasl.oauthbearer.assertion.claim.aud": _both(),
    "sasl.oauthbearer.assertion.claim.exp.seconds": _both(),
    "sasl.oauthbearer.assertion.claim.iss": _both(),
    "sasl.oauthbearer.assertion.claim.jti.include": _both(),
    "sasl.oauthbearer.assertion.claim.nbf.seconds": _both(),
    "sasl.oauthbearer.assertion.claim.sub": _both(),
    "sasl.oauthbearer.assertion.file": _both("read again for every token"),
    "sasl.oauthbearer.assertion.jwt.template.file": _both(),
    "sasl.oauthbearer.assertion.private.key.file": _both("signing needs the package cryptography"),
    "sasl.oauthbearer.assertion.private.key.passphrase": _both(),
    "sasl.oauthbearer.assertion.private.key.pem": _both("signing needs the package cryptography"),
    "sasl.oauthbearer.client.credentials.client.id": _both("the same key as sasl.oauthbearer.client.id"),
    "sasl.oauthbearer.client.credentials.client.secret": _both("the same key as sasl.oauthbearer.client.secret"),
    "sasl.oauthbearer.client.id": _both(),
    "sasl.oauthbearer.client.secret": _both(),
    "sasl.oauthbearer.config": _both(),
    "sasl.oauthbearer.extensions": _both(),
    "sasl.oauthbearer.grant.type": _both(),
    "sasl.oauthbearer.metadata.authentication.type": _both("aws_iam needs the package boto3, for librdkafka, too"),
    "sasl.oauthbearer.method": _both(),
    "sasl.oauthbearer.scope": _both(),
    "sasl.oauthbearer.sub.claim.name": _both("brokers find the principal in the token themselves"),
    "sasl.oauthbearer.token.endpoint.url": _both(),
    "sasl.password": _both(),
    "sasl.username": _both(),
    "security.protocol": _both(),
    "ssl.ca.certificate.stores": _refused(
        "for Windows, which the membership connection does not know: give ssl.ca.location"
    ),
    "ssl.ca.location": _both(),
    "ssl.ca.pem": _both(),
    "ssl.certificate.location": _both(),
    "ssl.certificate.pem": _both(),
    "ssl.certificate.verify_cb": _NO_SUCH_POINTER,
    "ssl.cipher.suites": _both("for TLS 1.2; Python has no setting for TLS 1.3, so its suites are OpenSSL's defaults"),
    "ssl.crl.location": _both(),
    "ssl.curves.list": _refused(
        "the membership connection uses Python's ssl module, which has no list of curves: set Curves in the openssl.cnf of "
        "OPENSSL_CONF"
    ),
    "ssl.endpoint.identification.algorithm": _both(),
    "ssl.engine.id": _refused(_NO_OPENSSL),
    "ssl.engine.location": _refused(_NO_OPENSSL),
    "ssl.key.location": _both(),
    "ssl.key.password": _both(),
    "ssl.key.pem": _both(),
    "ssl.keystore.location": _both("PKCS#12; the membership connection reads it with the package cryptography"),
    "ssl.keystore.password": _both(),
    "ssl.providers": _refused(_NO_OPENSSL),
    "ssl.sigalgs.list": _refused(
        "the membership connection uses Python's ssl module, which has no such list: set SignatureAlgorithms in the "
        "openssl.cnf of OPENSSL_CONF"
    ),
    "ssl_ca": _refused("a pointer of C: give ssl.ca.pem"),
    "ssl_certificate": _refused("a pointer of C: give ssl.certificate.pem"),
    "ssl_engine_callback_data": _NO_SUCH_POINTER,
    "ssl_key": _refused("a pointer of C: give ssl.key.pem"),
}

_GROUP: dict[str, Key] = {
    "coordinator.query.interval.ms": _fetcher(
        "the member looks for its coordinator whenever the coordinator does not answer"
    ),
    "group.id": _both("librdkafka needs the name and never joins"),
    "group.instance.id": _ours(),
    "group.protocol": _ours("the default is auto: consumer where brokers have it, else classic"),
    "group.protocol.type": _ours("only consumer is accepted, which is the default, because members are consumers"),
    "group.remote.assignor": _ours(),
    "heartbeat.interval.ms": _ours(),
    "max.poll.interval.ms": _ours(),
    "offset_commit_cb": _refused("a pointer of C: give on_commit, a function of Python"),
    "partition.assignment.strategy": _ours("the default is range,cooperative-sticky"),
    "rebalance_cb": _refused("a pointer of C: give on_assign, on_revoke and on_lost to subscribe()"),
    "session.timeout.ms": _ours(),
}

_OFFSETS: dict[str, Key] = {
    "auto.commit.enable": _OLD,
    "auto.commit.interval.ms": _ours(),
    "auto.offset.reset": _both("this library adds by_duration:PT1H, which Java has and librdkafka lacks"),
    "enable.auto.commit": _ours(),
    "enable.auto.offset.store": _ours(),
    "offset.store.method": _ours("only broker is accepted, which is the default, because the group stores the offsets"),
    "offset.store.path": _OLD,
    "offset.store.sync.interval.ms": _OLD,
}

_FETCHING: dict[str, Key] = {
    "check.crcs": _fetcher(),
    "consume.callback.max.messages": _OLD,
    "consume_cb": _refused("a pointer of C: records come from poll() and consume()"),
    "enable.partition.eof": _fetcher(),
    "fetch.error.backoff.ms": _fetcher(),
    "fetch.max.bytes": _fetcher(),
    "fetch.message.max.bytes": _fetcher(),
    "fetch.min.bytes": _fetcher(),
    "fetch.queue.backoff.ms": _fetcher(),
    "fetch.wait.max.ms": _fetcher(),
    "isolation.level": _fetcher(),
    "max.partition.fetch.bytes": _fetcher(),
    "max.poll.records": _SHARE_ONLY,
    "queued.max.messages.kbytes": _fetcher(),
    "queued.min.messages": _fetcher(),
    "share.acknowledgement.mode": _SHARE_ONLY,
}

_PROCESS: dict[str, Key] = {
    "background_event_cb": _NO_SUCH_POINTER,
    "builtin.features": _fetcher(),
    "closesocket_cb": _NO_SUCH_POINTER,
    "connect_cb": _NO_SUCH_POINTER,
    "debug": _fetcher("the log of the membership is Python's logger membership_client"),
    "default_topic_conf": _refused("a pointer of C: give default.topic.config, a mapping"),
    "enable.random.seed": _fetcher(),
    "enabled_events": _fetcher(),
    "error_cb": _fetcher("for librdkafka's connections; the membership's errors are raised by poll()"),
    "interceptors": _NO_SUCH_POINTER,
    "internal.termination.signal": _fetcher(),
    "log.connection.close": _fetcher(),
    "log.queue": _fetcher(),
    "log.thread.name": _fetcher(),
    "log_cb": _refused("a pointer of C: give logger, a logging.Logger"),
    "log_level": _fetcher("for librdkafka's log"),
    "opaque": _NO_SUCH_POINTER,
    "open_cb": _NO_SUCH_POINTER,
    "plugin.library.paths": _fetcher(),
    "resolve_cb": _NO_SUCH_POINTER,
    "socket_cb": _NO_SUCH_POINTER,
    "statistics.interval.ms": _fetcher(),
    "stats_cb": _fetcher("this library fills in lag, committed offsets and the group block"),
    "throttle_cb": _fetcher("for librdkafka's requests"),
}

CONFLUENT: Mapping[str, Key] = MappingProxyType(
    {
        "default.topic.config": _both(
            "its keys count as if given at the top level; a key that is given there, too, wins"
        ),
        "logger": _fetcher("for librdkafka's log"),
        "oauth_cb": _both("also called on a thread of the membership"),
        "on_commit": _ours(),
    }
)
"""Keys that confluent-kafka has beside librdkafka's."""

SECTIONS: Mapping[str, Mapping[str, Key]] = MappingProxyType(
    {
        "Connections and metadata": _CONNECTIONS,
        "Security": _SECURITY,
        "The group": _GROUP,
        "Offsets": _OFFSETS,
        "Fetching": _FETCHING,
        "Logs, callbacks and the process": _PROCESS,
        "confluent-kafka's own": CONFLUENT,
    }
)
"""All keys, in the order of the documentation."""

KEYS: Mapping[str, Key] = MappingProxyType({name: key for part in SECTIONS.values() for name, key in part.items()})


def with_reach(*reaches: Reach) -> frozenset[str]:
    """The keys whose reach is one of these."""
    return frozenset(name for name, key in KEYS.items() if key.reach in reaches)
