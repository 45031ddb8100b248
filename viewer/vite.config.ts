import { defineConfig } from 'vite';

const LIBRARY = decodeURI(new URL('src/h5web/lib.ts', import.meta.url).pathname);

// Addresses are relative: the page lies below a token that is made when the server starts.
export default defineConfig({
  base: './',
  build: { outDir: '../bindings/python/python/hyperslab/viewer/static', emptyOutDir: true, chunkSizeWarningLimit: 4000 },
  esbuild: { jsx: 'automatic' },
  plugins: [
    {
      // H5Web's app draws with our pictures, which draw with its library.
      name: 'pictures-of-h5web',
      enforce: 'pre',
      resolveId: (source, importer) => (source === '@h5web/lib' && importer?.includes('@h5web/app/') ? LIBRARY : null),
    },
  ],
});
