// Made-up reports of models.

const kTasks = ['conv2d', 'depthwise_conv2d', 'elementwise', 'dense', 'reduce', 'softmax', 'transpose'];

/** A variant of `layers` layers; `name` of some node. */
export function variant({layers = 12, name = 'conv', label = '', timed = true} = {}) {
  const list = [...Array(layers).keys()].map((i) => ({
                                               nodes: `${name}_${i} + relu_${i}`,
                                               workload: `${kTasks[i % 7]}(n=1,ci=${i + 1},layout=NCHW16c,dtype=f32)`,
                                               config: `algorithm=0,tile=${i + 1}`,
                                               source: i % 3 ? 'best (exact workload, confirmed)' : 'default',
                                               kernel: `m.${i}`,
                                               threads: i % 2 ? 'all' : 'one',
                                               bytes: 4096 * (i + 1),
                                               operations: 1e6 * (i + 1),
                                               alone: i % 4 ? undefined : `others read %${name}_${i}, too`,
                                               // Not in the order of the layers.
                                               seconds: timed ? 1e-5 * (1 + (i * 5) % layers) : undefined,
                                               roof_seconds: timed ? 5e-6 : undefined,
                                               error: 1e-7
                                             }));
  return {
    name: label,
    threads: 2,
    arena_bytes: 4096 * layers,
    arena_bound: 4096,
    layer_seconds: timed ? list.reduce((sum, l) => sum + l.seconds, 0) : undefined,
    check: 'all layers agree',
    inputs: [{name: `${name}_input`, type: 'f32[1, 3, 8, 8]'}],
    outputs: [{name: 'classes', type: 'f32[1, 10]'}],
    layers: list,
    buffers: list.map((l, i) => ({
                        name: `${name}_${i}_out`,
                        is_workspace: i % 5 === 4,
                        offset: 4096 * i,
                        bytes: 4096,
                        first: i,
                        last: Math.min(layers, i + 1)
                      })),
    free: [{nodes: `${name}_flat`, workload: 'reshape(shape=1x4,to=4)'}],
    passes: [{name: 'import', nodes: 2 * layers, seconds: 0}, {name: 'fuse_epilogues', nodes: layers, seconds: 1e-4}]
  };
}

export const report = (variants, more = {}) => ({
  hone_report: 1,
  model: 'm.onnx',
  hone: '0.1.0',
  target: 'llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2',
  machine: 'A CPU',
  when: '2026-01-31 12:00',
  artifact_bytes: 123456,
  weight_bytes: 100000,
  peak_gflops: 200,
  variants,
  ...more
});

/** Compares `now` with an older build: a layer got slower, one is new, one is gone. */
export function compared(now) {
  const layers = now.layers.map((l, i) => ({
                                  state: i === 0 ? 'config' :
                                      i === 1    ? 'new' :
                                                   'same',
                                  now: i,
                                  before: i === 1 ? undefined : {...l, seconds: i === 0 ? l.seconds / 100 : l.seconds}
                                }));
  layers.push({state: 'gone', before: {...now.layers[0], nodes: 'old_node', seconds: 1e-6}});
  return {
    model: 'm.onnx',
    hone: '0.1.0',
    target: 'llvm',
    machine: 'Another CPU',
    when: '2026-01-30 12:00',
    artifact_bytes: 123456,
    weight_bytes: 100000,
    notes: ['another machine: Another CPU before, A CPU now'],
    variants: [{name: now.name, arena_bytes: 2 * now.arena_bytes, layer_seconds: 2 * now.layer_seconds, layers}]
  };
}
