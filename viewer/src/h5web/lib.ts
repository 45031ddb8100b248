// What H5Web's app gets as its library: the library, with pictures that know coordinates, dates and names (vite.config.ts puts it there).
export * from '@h5web/lib';
export { DimensionMapper } from './DimensionMapper';
export { HeatmapVis } from './Heatmap';
export { LineVis } from './Line';
export { MatrixVis } from './Matrix';
