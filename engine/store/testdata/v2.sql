-- A database as version 2 left it. Frozen: never edit, add the next one.
PRAGMA auto_vacuum = 2;
PRAGMA application_id = 1111837772;
CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, at INTEGER NOT NULL);
CREATE TABLE decisions (
	at INTEGER NOT NULL,         -- unix nanoseconds: when the request arrived
	id TEXT NOT NULL,            -- request id
	app TEXT NOT NULL,
	model TEXT NOT NULL,         -- as asked, normalised
	served TEXT NOT NULL,        -- as served, normalised; '' = none
	node TEXT NOT NULL,          -- name
	node_id TEXT NOT NULL,
	outcome TEXT NOT NULL,
	body INTEGER NOT NULL,       -- bodies.seq
	PRIMARY KEY (at, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX decisions_id ON decisions (id);
CREATE TABLE bodies (
	seq INTEGER PRIMARY KEY,
	record BLOB NOT NULL         -- route.Record as JSON
);
CREATE TRIGGER decisions_gone AFTER DELETE ON decisions
BEGIN DELETE FROM bodies WHERE seq = OLD.body; END;
INSERT INTO migrations VALUES (1, 'decision records', 1772366400000000000);
CREATE TABLE state (
	name TEXT PRIMARY KEY,       -- ledger, evidence
	at INTEGER NOT NULL,         -- unix nanoseconds of the last change
	value BLOB NOT NULL
) WITHOUT ROWID;
INSERT INTO migrations VALUES (2, 'state of the node', 1772366400000000000);
INSERT INTO bodies VALUES (1, '{"request_id":"req_000001","at":"2026-03-01T12:00:01Z","registry_version":3,"requested_model":"Qwen3:8B","app":"editor","protocol":"openai-chat","requirements":{"role":"chat","clear":false,"tokens":{"input":800,"output":1024,"reasoning":0}},"candidates":null,"chosen":"n1/ollama/qwen3:8b","node":"studio","reasons":null,"timing":{"queue_ms":3,"load_ms":0,"ttft_ms":210,"total_ms":2400},"retries":0,"failover_allowed":true,"outcome":"ok","overhead_ms":0.4}');
INSERT INTO decisions VALUES (1772366401000000000, 'req_000001', 'editor', 'qwen3:8b', 'qwen3:8b', 'studio', 'n1', 'ok', 1);
INSERT INTO state VALUES ('ledger', 1772366401000000000, x'7b7d');
