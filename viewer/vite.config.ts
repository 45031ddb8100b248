import { defineConfig } from 'vite';

// Addresses are relative: the page lies below a token that is made when the server starts.
export default defineConfig({
  base: './',
  build: { outDir: '../bindings/python/python/hyperslab/viewer/static', emptyOutDir: true, chunkSizeWarningLimit: 4000 },
  esbuild: { jsx: 'automatic' },
});
