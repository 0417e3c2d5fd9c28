// A made-up fleet in the form of the tracker's JSON, the same for the same seed.

function random(seed) {
  let x = seed >>> 0 || 1;
  return () => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return (x >>> 0) / 2 ** 32;
  };
}

const kModels = [
  ['AMD EPYC 9B45', 'llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=16 -l2=1024K', 'cpu', 64],
  [
    'Intel(R) Xeon(R) Platinum 8481C', 'llvm -mtriple=x86_64-linux -mcpu=sapphirerapids -threads=8 -l2=2048K', 'cpu', 32
  ],
  ['NVIDIA H100 80GB HBM3', 'cuda -arch=sm_90 -sms=132', 'cuda0', 80],
  ['NVIDIA GeForce RTX 4090', 'cuda -arch=sm_89 -sms=128', 'cuda0', 24],
  ['Raspberry Pi 5 Model B', 'llvm -mtriple=aarch64-linux -mcpu=cortex-a76 -threads=4 -l2=512K', 'cpu', 8],
  ['Ampere Altra', 'llvm -mtriple=aarch64-linux -mcpu=neoverse-n1 -threads=32 -l2=1024K', 'cpu', 128],
];

export function device(i, next) {
  const [model, target, kind, memory] = kModels[Math.floor(next() * kModels.length)];
  const place = next();
  const state = place < 0.72 ? 'busy' :
      place < 0.88           ? 'idle' :
      place < 0.92           ? 'draining' :
      place < 0.95           ? 'quarantined' :
      place < 0.975          ? 'probation' :
                               'lost';
  const agent = `${['lab', 'rack', 'board', 'edge'][i % 4]}-${String(i).padStart(2, '0')}`;
  const warm = next() < 0.7, done = Math.floor(next() * 20000), pi = model.startsWith('Raspberry');
  return {
    key: `${agent}/${kind}`,
    agent,
    state,
    why: state === 'quarantined' ? 'sentinel 41% slower than its own quiet level for 90 s' :
        state === 'probation'    ? '3 of 10 good answers' :
                                   '',
    target,
    model,
    memory_bytes: memory * 2 ** 30,
    versions: {hone: '0.1.0', llvm: '19.1.7', ...(kind === 'cpu' ? {} : {driver: '580.65.06'})},
    labels: {room: String(1 + (i % 5)), class: pi ? 'board' : 'server'},
    missing: pi ? ['landlock'] : [],
    leased: state === 'busy' ? 8 + Math.floor(next() * 8) : 0,
    done,
    failed: Math.floor(done * next() * 0.06),
    connected_s: next() * 400000,
    sentinel_seconds: 0.0004 + next() * 0.0002,
    temperature_c: warm ? 40 + next() * 40 : null,
    clock_mhz: warm ? 1500 + next() * 3000 : null,
    governor: pi ? 'ondemand' :
        warm     ? 'performance' :
                   '',
    throttled: '',
    utilization: state === 'busy' ? 0.6 + next() * 0.4 :
        state === 'idle'          ? next() * 0.1 :
                                    0,
    jobs_per_minute: state === 'busy' ? next() * (pi ? 60 : 900) : 0,
  };
}

/** A curve as searches have: steep, then ever rarer gains. */
export function curve(trials, peak, points, next) {
  const out = [];
  let best = peak * 0.35;
  for (let i = 0; i < points; ++i) {
    const at = Math.round(((i + 1) / points) * trials);
    if (next() < 0.45) best += (peak - best) * next() * 0.35;
    out.push([Number((at / 21 + 1.4).toFixed(2)), at, Number(best.toFixed(2))]);
  }
  return out;
}

const kTitles = [
  [
    'conv2d(n=1,ci=64,h=56,w=56,co=64,kh=3,kw=3,stride=1,pad=1,dilation=1,groups=1,layout=NCHWc,dtype=f32,epilogue=bias+relu)',
    1034, 'algorithm=6,w_oc_block=32,w_ic_block=32,w_tile_p=10,w_block_p=1,w_unroll=1,w_order=0,w_parallel=oc', 'llvm'
  ],
  [
    'dense(m=128,n=3072,k=768,dtype=f32,epilogue=bias)', 441.3,
    'tile_y=8x4x4,tile_x=6x16x2,tile_k=96x8,order=1,pack=1,unroll=4', 'llvm'
  ],
  [
    'batch_matmul(b=12,m=384,n=384,k=64,dtype=f32,epilogue=none)', 52310,
    'block=128x128x32,warp=64x32,stages=3,vector=4,swizzle=1', 'cuda'
  ],
  [
    'depthwise_conv2d(n=1,c=384,h=14,w=14,kh=3,kw=3,stride=1,pad=1,dilation=1,layout=NCHWc,dtype=f32,epilogue=none)',
    48.2, 'c_block=16,tile_ow=7x2,tile_oh=2,unroll_kw=1,vectorize=16', 'llvm'
  ],
  ['resnet50.txt (20 workloads)', 612, '', 'llvm'],
];

export function session(i, next, age = 1) {
  const [title, peak, config, kind] = kTitles[i % kTitles.length];
  const budget = [2000, 1000, 4000, 500, 10000][i % 5],
        trials = Math.round(budget * Math.min(1, (0.2 + 0.6 * next()) * age));
  const points = curve(trials, peak * (0.9 + next() * 0.2), 90, next), best = points.at(-1)[2];
  const failed = Math.round(trials * 0.04);
  const hex = (n) => Array.from({length: n}, () => Math.floor(next() * 16).toString(16)).join('');
  return {
    session: `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`,
    title,
    device_key: i % 3 === 1 ? 'room=2' : '',
    target_kind: kind,
    labels: i % 4 === 2 ? ['class=server'] : [],
    weight: i % 4 === 1 ? 2 : 1,
    priority: i === 3 ? 1 : 0,
    queued: Math.floor(next() * 300),
    leased: Math.floor(next() * 60),
    done: trials,
    oldest_s: next() * 9,
    connected: i % 7 !== 6,
    device_seconds: trials * 0.11,
    share: 1 / 5,
    summary: {
      trials,
      budget,
      best_gflops: best,
      best_seconds: 0.231 / best,
      trials_per_second: 21 * (0.6 + next()),
      by_status: {
        ok: trials - failed,
        wrong_result: 1,
        run_timeout: Math.floor(failed / 2),
        rejected: failed - Math.floor(failed / 2) - 1
      },
      best_config: config
    },
    curve: points,
  };
}

/** Makes a session one that tunes a model of `tasks` workloads; its curve has the time of a run. */
export function asModel(session, {tasks = 40, missing = 0} = {}) {
  const slowest =
      [...Array(Math.min(32, tasks - missing)).keys()].map((i) => ({
                                                             workload: `conv2d(n=1,ci=${i + 8},h=56,w=56,co=64)`,
                                                             count: 1 + i % 3,
                                                             seconds: 4e-4 / (i + 1),
                                                             default_seconds: 6e-4 / (i + 1),
                                                             trials: 40 - i,
                                                             config_name: i ? 'tuned' : 'winograd4'
                                                           }));
  const seconds = missing ? 0 : 5e-3;
  session.title = 'model mobilenet.onnx';
  session.summary.best_config = '';
  // The measured part takes 5/9 of the default's time; until all of it is measured, a run has no time.
  const measured = (tasks - missing) / tasks;
  session.summary.model = {
    seconds,
    default_seconds: missing ? 0 : 9e-3,
    tasks,
    missing,
    measured_seconds: 5e-3 * measured,
    measured_default_seconds: 9e-3 * measured,
    slowest
  };
  session.curve = session.curve.map((point, i, all) => {
    const left = 9 - 4 * i / (all.length - 1);
    return [...point, missing ? 0 : left * 1e-3, left / 9];
  });
  return session;
}

export function fleet({devices = 14, sessions = 5, seed = 7, age = 1} = {}) {
  const next = random(seed);
  const all = Array.from({length: devices}, (_, i) => device(i, next));
  const running = Array.from({length: sessions}, (_, i) => session(i, next, age));
  return {
    version: '0.1.0',
    uptime_s: 93784,
    now: Date.now() / 1000,
    devices: all,
    sessions: running,
    results: devices ? {
      ok: 181034,
      wrong_result: 412,
      run_timeout: 907,
      rejected: 1201,
      build_failed: 88,
      device_lost: 35,
      run_failed: 0
    } :
                       {},
    queue: {
      queued: running.reduce((n, s) => n + s.queued, 0),
      leased: all.reduce((n, d) => n + d.leased, 0),
      oldest_s: running.length ? 8.4 : 0
    },
  };
}

export function deviceDetail(of, seed = 3) {
  const next = random(seed), now = Date.now() / 1000;
  const width = 40, history = [];
  for (let i = 0; i < 300; ++i) {
    const slow = i > 120 && i < 140, lasted = i < 299 ? width : 15,
          done = Math.round(lasted * (0.9 + 0.3 * next()) * (slow ? 0.1 : 1));
    history.push({
      t: now - 15 - (299 - i) * width,
      done,
      failed: Math.round(done * 0.05 * next()),
      busy_s: lasted * (slow ? 0.1 : 0.85 + 0.12 * next()),
      sentinel_seconds: 0.00045 * (i > 105 && i < 120 ? 1.4 : 1 + 0.03 * next()),
      temperature_c: of.temperature_c === null ? null : 55 + 12 * Math.sin(i / 40) + 2 * next(),
      clock_mhz: of.clock_mhz === null ? null : 3200 + 200 * next()
    });
  }
  return {
    device: of,
    now,
    bucket_s: width,
    history,
    events: [
      [-3 * 3600, 'connected: agent 0.1.0, LLVM 19.1.7'],
      [-2 * 3600, 'quarantined: sentinel 41% slower than its own quiet level for 90 s'],
      [-6900, 'probation: one lease at a time'], [-6800, 'back: 10 good answers'],
      [-320, 'drained by an administrator'], [-240, 'resumed by an administrator']
    ].map(([ago, what]) => ({t: now + ago, what})),
    by_status: {ok: 9411, run_timeout: 61, rejected: 122, wrong_result: 4},
    phases: {queue: 310, transfer: 22, build: 2410, check: 420, run: 5100, reference: 130, idle: 2100},
  };
}
