-- A file of schema version 6, as `sqlite3 FILE .dump` wrote it; the two pragmas are what .dump leaves out.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL UNIQUE,
  workload TEXT NOT NULL, target TEXT NOT NULL, space TEXT NOT NULL,
  searcher TEXT NOT NULL, seed INTEGER NOT NULL,
  started INTEGER NOT NULL, ended INTEGER,      -- Unix time in ms
  state TEXT NOT NULL                           -- 'implied': made up for a trial whose session row has not come
);
INSERT INTO sessions VALUES(1,'11111111-2222-3333-4444-555555555555','dense(m=128,n=768,k=768,dtype=f32,epilogue=none)','llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2','feed1234','xgb',1,1699999999000,NULL,'running');
CREATE TABLE keys (
  id INTEGER PRIMARY KEY,
  workload TEXT NOT NULL, target TEXT NOT NULL,
  space TEXT NOT NULL, in_layout TEXT NOT NULL, out_layout TEXT NOT NULL,
  UNIQUE (workload, target, space, in_layout, out_layout)
);
INSERT INTO keys VALUES(1,'dense(m=128,n=768,k=768,dtype=f32,epilogue=none)','llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2','feed1234','MK','MN');
CREATE TABLE origins (
  id INTEGER PRIMARY KEY,
  template TEXT NOT NULL, revision INTEGER NOT NULL,
  device TEXT NOT NULL, device_model TEXT NOT NULL, profile TEXT NOT NULL,
  hone_version TEXT NOT NULL, codegen_version TEXT NOT NULL,
  UNIQUE (template, revision, device, device_model, profile, hone_version, codegen_version)
);
INSERT INTO origins VALUES(1,'dense_cpu',1,'box/cpu','znver5','1+3x2ms','0.1.0','1');
CREATE TABLE trials (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (id),
  seq INTEGER NOT NULL, candidate INTEGER NOT NULL,
  key INTEGER NOT NULL REFERENCES keys (id),
  origin INTEGER NOT NULL REFERENCES origins (id),
  config TEXT NOT NULL, module_hash TEXT NOT NULL,
  status TEXT NOT NULL, message TEXT NOT NULL,
  times TEXT NOT NULL,                          -- JSON array of seconds
  seconds REAL,                                 -- median; NULL unless status is ok
  censored INTEGER NOT NULL, confirmed INTEGER NOT NULL,
  rel_error REAL NOT NULL, max_error REAL NOT NULL,
  queue_s REAL NOT NULL, transfer_s REAL NOT NULL, build_s REAL NOT NULL,
  check_s REAL NOT NULL, run_s REAL NOT NULL, reference_s REAL NOT NULL,
  sentinel_before REAL NOT NULL, sentinel_after REAL NOT NULL,
  created_at INTEGER NOT NULL,                  -- Unix time in ms
  features BLOB,
  UNIQUE (session, seq, candidate)
);
INSERT INTO trials VALUES(1,1,0,0,1,1,'tile=1','00112233445566778899aabbccddeeff','ok','','[0.004,0.004,0.004]',0.0040000000000000000832,0,0,0.0,0.0,0.0010000000000000000208,0.0020000000000000000416,0.012000000000000000249,0.0010000000000000000208,0.020000000000000000416,0.0,0.00010000000000000000479,0.00010000000000000000479,1700000000000,NULL);
INSERT INTO trials VALUES(2,1,1,0,1,1,'tile=2','00112233445566778899aabbccddeeff','ok','','[0.002,0.002,0.002]',0.0020000000000000000416,0,0,0.0,0.0,0.0010000000000000000208,0.0020000000000000000416,0.012000000000000000249,0.0010000000000000000208,0.020000000000000000416,0.0,0.00010000000000000000479,0.00010000000000000000479,1700000000001,NULL);
INSERT INTO trials VALUES(3,1,2,0,1,1,'tile=9','00112233445566778899aabbccddeeff','build_failed','no','[]',NULL,0,0,0.0,0.0,0.0010000000000000000208,0.0020000000000000000416,0.012000000000000000249,0.0010000000000000000208,0.020000000000000000416,0.0,0.00010000000000000000479,0.00010000000000000000479,1700000000002,NULL);
CREATE TABLE best (
  key INTEGER PRIMARY KEY REFERENCES keys (id),
  trial INTEGER NOT NULL REFERENCES trials (id),
  confirmed INTEGER NOT NULL,
  seconds REAL NOT NULL
);
INSERT INTO best VALUES(1,2,0,0.0020000000000000000416);
CREATE TABLE batches (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (id),
  number INTEGER NOT NULL,                      -- in the session, from 0
  workload TEXT NOT NULL, target TEXT NOT NULL, space TEXT NOT NULL,
  trials INTEGER NOT NULL, known INTEGER NOT NULL,
  pairwise REAL, peak1 REAL, peak5 REAL,        -- NULL: nobody guessed
  idle_s REAL NOT NULL, drifted INTEGER NOT NULL,
  finished INTEGER NOT NULL,                    -- Unix time in ms
  UNIQUE (session, number)
);
INSERT INTO batches VALUES(1,1,0,'dense(m=128,n=768,k=768,dtype=f32,epilogue=none)','llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2','feed1234',3,3,0.75,NULL,1.0,0.125,1,1700000000003);
CREATE TABLE priors (
  id INTEGER PRIMARY KEY,
  target_kind TEXT NOT NULL, schema TEXT NOT NULL,
  hone_version TEXT NOT NULL,
  created_at INTEGER NOT NULL,                  -- Unix time in ms
  group_count INTEGER NOT NULL, trial_count INTEGER NOT NULL,
  held_out INTEGER NOT NULL,
  pairwise REAL, peak1 REAL, peak5 REAL,        -- NULL: nothing was held out
  model BLOB NOT NULL,
  UNIQUE (target_kind, schema)
);
INSERT INTO priors VALUES(1,'llvm','00000000000000000000000000000001','0.2.0',1700000000004,3,90,3,0.875,0.75,NULL,X'00ff10');
CREATE TABLE foreign_records (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,                    -- of the line
  source TEXT NOT NULL, line INTEGER NOT NULL,
  template TEXT NOT NULL, arguments TEXT NOT NULL, target TEXT NOT NULL, config TEXT NOT NULL,
  status TEXT NOT NULL,
  seconds REAL,                                 -- NULL unless status is ok
  workload TEXT NOT NULL, reason TEXT NOT NULL
);
INSERT INTO foreign_records VALUES(1,'000000000000000000000000000000aa','old.log',3,'dense_nopack.x86','[]','llvm','[]','ok',0.5,'dense(m=128,n=768,k=768,dtype=f32,epilogue=none)','');
CREATE TABLE missing_protections (
  trial INTEGER PRIMARY KEY REFERENCES trials (id),
  what TEXT NOT NULL                            -- "landlock, seccomp"
);
INSERT INTO missing_protections VALUES(2,'landlock, network namespace');
CREATE TABLE disturbed_trials (
  trial INTEGER PRIMARY KEY REFERENCES trials (id),
  default_s REAL                                -- the default's time beside a confirmation; NULL: not known
);
INSERT INTO disturbed_trials VALUES(1,NULL);
CREATE TABLE machine_states (
  trial INTEGER PRIMARY KEY REFERENCES trials (id),
  governor TEXT NOT NULL,                       -- "ondemand, schedutil"; '': not known, as NULL below
  temperature_before REAL, temperature_after REAL,  -- in degrees Celsius
  clock_before REAL, clock_after REAL,          -- in MHz
  throttled TEXT NOT NULL                       -- why it ran slower than it could; '': it did not, or nobody knows
);
INSERT INTO machine_states VALUES(1,'ondemand',61.5,64.0,1800.0,NULL,'thermal');
INSERT INTO machine_states VALUES(2,'performance',-3.25,NULL,1800.0,1795.5,'');
CREATE TABLE choices (
  id INTEGER PRIMARY KEY,
  workload TEXT NOT NULL, target TEXT NOT NULL, space TEXT NOT NULL,
  config TEXT NOT NULL, instead_of TEXT NOT NULL,
  seconds REAL NOT NULL, instead_seconds REAL NOT NULL,  -- inside the model
  created_at INTEGER NOT NULL,                  -- Unix time in ms
  UNIQUE (workload, target, space, instead_of)
);
INSERT INTO choices VALUES(1,'dense(m=128,n=768,k=768,dtype=f32,epilogue=none)','llvm','feed1234','tile=1','tile=2',0.001,0.0015,1700000000000);
CREATE TABLE definitions (
  hash TEXT NOT NULL,                           -- of the text
  kind TEXT NOT NULL,                           -- "operator", "kernel"
  text TEXT NOT NULL,
  PRIMARY KEY (hash, kind)
);
INSERT INTO definitions VALUES('f72f2f84e190448f39b70579826e7d3b','operator','y[i, j] = x[i, j] * rsqrt(mean(x[i, k] * x[i, k]))');
CREATE TABLE unsent_trials (
  hub TEXT NOT NULL, trial INTEGER NOT NULL REFERENCES trials (id),
  PRIMARY KEY (hub, trial)
);
INSERT INTO unsent_trials VALUES('https://hub:9200',2);
CREATE TABLE unsent_choices (
  hub TEXT NOT NULL, choice INTEGER NOT NULL REFERENCES choices (id),
  PRIMARY KEY (hub, choice)
);
INSERT INTO unsent_choices VALUES('https://hub:9200',1);
CREATE INDEX trials_by_key ON trials (key);
CREATE INDEX trials_by_time ON trials (key, confirmed DESC, seconds) WHERE status = 'ok' AND censored = 0;
CREATE INDEX trials_confirmed ON trials (key, config, created_at) WHERE status = 'ok' AND censored = 0 AND confirmed = 1;
CREATE INDEX batches_by_workload ON batches (workload, target, space);
CREATE INDEX foreign_by_workload ON foreign_records (workload);
COMMIT;
PRAGMA application_id = 1213156933;
PRAGMA user_version = 9;
