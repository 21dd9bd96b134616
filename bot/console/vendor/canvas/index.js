export { Handle, MarkerType, Position, VueFlow, useVueFlow } from "@vue-flow/core";
export { Background } from "@vue-flow/background";
export { ControlButton, Controls } from "@vue-flow/controls";
export { MiniMap } from "@vue-flow/minimap";
export { graphlib, layout } from "@dagrejs/dagre";
