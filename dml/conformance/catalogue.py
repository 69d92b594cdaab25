"""Operator shapes of real models as cases, to find the kernel variants that selection chooses for them.

A line is a case's name with alternatives separated by ``|``; each combination of them is one case. They are not run:
``coverage`` lowers them for a device and looks for the smallest case for each kernel variant.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

_FLOATS = "type=FLOAT32|FLOAT16"
_WEIGHTS = "layout=packed|owned"

#: Operators by model or kind of model.
MODELS: Mapping[str, tuple[str, ...]] = {
    "ResNet-50": (
        f"CONVOLUTION:{_FLOATS},sizes=1x3x224x224|8x3x224x224,outputs=64,window=7,strides=2,padding=3,bias=yes,{_WEIGHTS}",
        f"CONVOLUTION:{_FLOATS},sizes=1x64x56x56|8x64x56x56,outputs=64,padding=1,bias=yes,activation=none|RELU,{_WEIGHTS}",
        f"CONVOLUTION:{_FLOATS},sizes=1x128x28x28|1x256x14x14,outputs=128,padding=1,bias=no|yes,{_WEIGHTS}",
        f"CONVOLUTION:{_FLOATS},sizes=1x512x7x7|8x512x7x7,outputs=512,padding=1,bias=yes,{_WEIGHTS}",
        f"CONVOLUTION:{_FLOATS},sizes=1x256x56x56,outputs=128,window=1,strides=1|2,bias=yes,{_WEIGHTS}|permuted",
        f"CONVOLUTION:{_FLOATS},sizes=1x1024x14x14,outputs=2048,window=1,strides=2,bias=yes,{_WEIGHTS}",
        f"CONVOLUTION:{_FLOATS},sizes=1x128x56x56,outputs=128,strides=2,padding=1,{_WEIGHTS}|permuted",
        f"MAX_POOLING:{_FLOATS},sizes=1x64x112x112,window=3,strides=2,padding=1",
        f"AVERAGE_POOLING:{_FLOATS},sizes=1x2048x7x7,window=7",
        f"BATCH_NORMALIZATION:{_FLOATS},sizes=1x9x17x23",
        f"GEMM:{_FLOATS},sizes=1x2048x1000|32x2048x1000,trans_b=no|yes,c=no|yes,{_WEIGHTS}",
        "CONVOLUTION_INTEGER:type=UINT8|INT8,filter_type=INT8|UINT8,sizes=1x64x56x56|1x3x224x224,outputs=64,padding=1,"
        "zero_points=no|yes,per=channel|tensor",
        "QUANTIZED_LINEAR_CONVOLUTION:type=UINT8|INT8,filter_type=INT8,output_type=UINT8|INT8,sizes=1x64x56x56|1x256x14x14,"
        "outputs=64,window=1|3,strides=1|2,zero_points=no|yes,bias=no|yes",
    ),
    "MobileNet": (
        f"CONVOLUTION:{_FLOATS},sizes=1x1x112x112,outputs=1,groups=32,window=3|5,strides=1|2,padding=1|2,bias=yes,"
        f"activation=none|RELU,{_WEIGHTS}",
        f"CONVOLUTION:{_FLOATS},sizes=1x1x14x14,outputs=1,groups=192,padding=1,dilations=1|2,bias=yes,{_WEIGHTS}|permuted",
        "QUANTIZED_LINEAR_CONVOLUTION:type=UINT8,filter_type=INT8,output_type=UINT8,sizes=1x1x56x56,outputs=1,groups=64,"
        "padding=1,bias=yes",
    ),
    "BERT": (
        f"GEMM:{_FLOATS},sizes=128x768x3072|384x768x768|1024x768x3072,trans_a=no|yes,trans_b=no|yes,c=no|yes,{_WEIGHTS}",
        f"GEMM:{_FLOATS},sizes=128x768x3072,activation=RELU|SIGMOID,c=yes,{_WEIGHTS}",
        f"GEMM:{_FLOATS},sizes=128x64x128|128x128x64,batch=2x3,trans_b=no|yes,alpha=-0.3",
        f"MULTIHEAD_ATTENTION:{_FLOATS},sizes=1x128x128x0x64x64|8x384x384x0x64x64,heads=12,"
        "source=separate|query_key_value|key_value,mask=NONE|BOOLEAN|KEY_SEQUENCE_LENGTH,bias=no|yes,relative=no|yes",
        f"ACTIVATION_SOFTMAX:{_FLOATS},sizes=1536x128|1536x384",
        f"MEAN_VARIANCE_NORMALIZATION2:{_FLOATS},sizes=2x3x768|2x3x1024,axes=last,scale=all|no,bias=yes|no",
        f"ACTIVATION_GELU:{_FLOATS},sizes=128x3072",
        "GATHER:type=FLOAT32|FLOAT16,sizes=1x30522x768",
        "MATRIX_MULTIPLY_INTEGER:type=UINT8|INT8,b_type=INT8|UINT8,sizes=128x768x3072|1024x768x3072|8x768x768,"
        "zero_points=no|yes,per=each|tensor",
        "MATRIX_MULTIPLY_INTEGER_TO_FLOAT:type=UINT8|INT8,output_type=FLOAT32|FLOAT16,sizes=128x768x3072|4x768x768,"
        "zero_points=no|yes,bias=no|yes",
        "QUANTIZED_LINEAR_MATRIX_MULTIPLY:type=UINT8|INT8,b_type=INT8|UINT8,output_type=UINT8|INT8,sizes=128x768x768|8x768x768,"
        "zero_points=no|yes",
    ),
    "GPT": (
        f"GEMM:{_FLOATS},sizes=1x4096x4096|1x4096x11008|2x4096x4096|4x4096x4096|8x4096x4096|12x4096x4096|16x4096x4096,"
        f"trans_b=no|yes,c=no|yes,{_WEIGHTS}",
        f"GEMM:{_FLOATS},sizes=512x4096x4096|2048x4096x4096,trans_b=no|yes,{_WEIGHTS}",
        f"GEMM:{_FLOATS},sizes=4096x4096x3|3x4096x50257|1x65536x64|64x65536x16,trans_a=no|yes,{_WEIGHTS}",
        f"MULTIHEAD_ATTENTION:{_FLOATS},sizes=1x1x1x1023x128x128|1x4x4x4092x128x128|1x1x1x8191x64x64,heads=32,"
        "mask=NONE|BOOLEAN|KEY_SEQUENCE_LENGTH,present=no|yes,relative=no|yes",
        f"MULTIHEAD_ATTENTION:{_FLOATS},sizes=1x512x512x0x128x128|1x2048x2048x0x80x80,heads=8",
        f"MULTIHEAD_ATTENTION1:{_FLOATS},sizes=1x1x1x2047x128x128|1x256x256x0x128x128|1x8x8x1016x64x64,heads=32.8|8.1,"
        "mask=NONE|BOOLEAN,present=no|yes",
        f"ACTIVATION_SOFTMAX:{_FLOATS},sizes=1x50257|4x131072|2048x2048",
        f"ACTIVATION_LOG_SOFTMAX:{_FLOATS},sizes=1x50257|512x1024",
        f"TOP_K:{_FLOATS},sizes=1x50257|4x50257,k=1|70|half",
        f"CUMULATIVE_SUMMATION:{_FLOATS},sizes=1x50257|1x1048576",
        f"LP_NORMALIZATION:{_FLOATS},sizes=2x3x4096",
        f"REDUCE:{_FLOATS},function=AVERAGE|SUM_SQUARE|MAX|ARGMAX|LOG_SUM_EXP,sizes=512x4096|1x50257,axes=last|first|all",
    ),
    "UNet": (
        f"CONVOLUTION:{_FLOATS},sizes=1x320x64x64|1x640x32x32|2x1280x16x16,outputs=320,padding=1,bias=yes,{_WEIGHTS}",
        f"CONVOLUTION:{_FLOATS},sizes=1x4x64x64,outputs=320,padding=1,bias=yes,{_WEIGHTS}",
        f"CONVOLUTION:{_FLOATS},sizes=1x320x64x64,outputs=4,padding=1,bias=yes,{_WEIGHTS}",
        f"CONVOLUTION:{_FLOATS},sizes=1x64x28x28,outputs=32,window=2|4,strides=2,direction=BACKWARD,bias=yes,{_WEIGHTS}",
        f"MEAN_VARIANCE_NORMALIZATION2:{_FLOATS},sizes=2x32x10x64x64|2x32x40x16x16,axes=last|all,scale=all|yes,bias=yes",
        f"MULTIHEAD_ATTENTION:{_FLOATS},sizes=2x4096x4096x0x40x40|2x1024x77x0x80x80|2x64x77x0x160x160,heads=8",
        f"RESAMPLE:{_FLOATS},sizes=1x3x64x64",
        f"ACTIVATION_SWISH:{_FLOATS},sizes=320x4096",
        f"ELEMENT_WISE_IDENTITY:{_FLOATS}|INT8|UINT16|INT64,sizes=64x64x64|320x4096|1023x513,layout=turned|permuted|padded",
        "CAST:type=FLOAT32|FLOAT16|UINT8|INT64,to=FLOAT16|FLOAT32|INT8,sizes=64x64x64|320x4096,layout=turned|packed",
    ),
    "Whisper": (
        f"CONVOLUTION:{_FLOATS},sizes=1x80x3000,outputs=384,window=3,strides=1|2,padding=1,bias=yes,{_WEIGHTS}",
        f"GEMM:{_FLOATS},sizes=1500x384x1536|1500x1536x384|1x384x51865|5x384x51865,c=no|yes,trans_b=no|yes,{_WEIGHTS}",
        f"MULTIHEAD_ATTENTION:{_FLOATS},sizes=1x1500x1500x0x64x64|1x1x1500x0x64x64|5x1x1x447x64x64,heads=6,"
        "mask=NONE|KEY_SEQUENCE_LENGTH",
    ),
    "detection": (
        f"TOP_K1:{_FLOATS},sizes=1x217413|80x8400,k=1|70|half,direction=DECREASING",
        f"TOP_K1:{_FLOATS},sizes=1x163200,k=1000,direction=DECREASING",
        f"NONZERO_COORDINATES:{_FLOATS},sizes=256x256|80x8400",
        f"RESAMPLE3:{_FLOATS},sizes=1x3x64x64",
        f"CONVOLUTION:{_FLOATS},sizes=1x3x640x640,outputs=32,window=3|6,strides=2,padding=1|2,bias=yes,{_WEIGHTS}",
        f"MAX_POOLING1:{_FLOATS},sizes=1x256x20x20,window=5|13,padding=2|6",
        f"ROI_ALIGN:{_FLOATS},sizes=1x256x50x50,reduce=AVERAGE|MAX,pooled=7x7,samples=2_3",
        "NON_MAX_SUPPRESSION:type=FLOAT32,sizes=1x91x3234|1x1x25200,most=half|1,limits=no|yes,least=no|yes,scores=yes|no",
        f"GATHER_ND:{_FLOATS},sizes=1x1x8400x84",
    ),
    "recurrent": (
        f"GRU:{_FLOATS},sizes=32x1x64x64|32x16x64x64|32x1x256x256|16x8x256x256|2x1x256x1024|32x16x1024x1024,bias=no|yes,"
        "start=no|yes,lengths=no|yes,direction=FORWARD|BIDIRECTIONAL",
        f"LSTM:{_FLOATS},sizes=32x1x64x64|32x16x64x64|32x1x256x256|16x8x256x256|2x1x256x1024|32x16x1024x1024,bias=no|yes,"
        "start=no|yes,lengths=no|yes,direction=FORWARD|BIDIRECTIONAL",
        f"RNN:{_FLOATS},sizes=32x1x64x64|16x8x256x256|2x1x256x1024|8x64x1024x1024,bias=no|yes,start=no|yes,lengths=no|yes",
    ),
    "training": (
        f"BATCH_NORMALIZATION_TRAINING:{_FLOATS},sizes=1x9x17x23",
        f"CONVOLUTION:{_FLOATS},sizes=2x5x13x13,outputs=4,window=31,padding=15",
        f"AVERAGE_POOLING:{_FLOATS},sizes=1x64x56x56,window=56",
        f"LP_POOLING:{_FLOATS},sizes=1x64x56x56,window=56",
        f"ADAM_OPTIMIZER:{_FLOATS},sizes=1x1x1x1048576",
    ),
}


def names() -> Iterator[str]:
    """Yield every case's name, in the order of the models."""
    for lines in MODELS.values():
        for line in lines:
            yield from _combined(line)


def _combined(line: str) -> Iterator[str]:
    operator, _, rest = line.partition(":")
    parts = [part.partition("=") for part in rest.split(",")]
    for labels in itertools.product(*(values.split("|") for _, _, values in parts)):
        chosen = (f"{name}={label}" for (name, _, _), label in zip(parts, labels, strict=True))
        yield f"{operator}:{','.join(chosen)}"
