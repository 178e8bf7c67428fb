# cuDNN, for comparisons on a GPU: headers of its frontend (PyPI wheel nvidia-cudnn-frontend) and of cuDNN itself (wheel
# nvidia-cudnn-cu13). The library is opened at run time, by path.
set(SHIFTCONV_CUDNN_FRONTEND_INCLUDE "" CACHE PATH "Folder of cudnn_frontend.h; empty: nothing is compared with cuDNN")
set(SHIFTCONV_CUDNN_INCLUDE "" CACHE PATH "Folder of cudnn.h")
set(SHIFTCONV_CUDNN_LIBRARY "" CACHE FILEPATH "libcudnn.so.9 for tests with the label cudnn")
if(NOT SHIFTCONV_CUDNN_FRONTEND_INCLUDE)
  message(STATUS "No cudnn_frontend.h (SHIFTCONV_CUDNN_FRONTEND_INCLUDE): without cudnn_referee and h200_bench; conv_bench measures ours alone")
endif()
